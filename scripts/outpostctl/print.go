package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// printJSON writes one indented document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// table writes columns for people. An empty cell becomes a dash, so that columns can be told apart.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, head ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t table) row(cells ...string) {
	for i := range cells {
		if cells[i] = oneLine(cells[i]); cells[i] == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

func (t table) end() error { return t.w.Flush() }

// oneLine keeps a text from breaking a table, or a terminal: what others wrote may hold control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// age is a duration as people say it: two units at most.
func age(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 0:
		return "-" + age(-d)
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// ago says how long ago something was; empty when it never was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return age(now.Sub(t)) + " ago"
}

// until says when something will be, or that it is over; empty when it is not set.
func until(now, t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case now.Before(t):
		return "in " + age(t.Sub(now))
	}
	return "over for " + age(now.Sub(t))
}

// shortTask is the end of a task's ARN: its id.
func shortTask(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
