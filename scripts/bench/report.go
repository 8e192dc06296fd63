package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that was measured.
type report struct {
	At      time.Time `json:"at"`
	Machine machine   `json:"machine"`
	Tables  []table   `json:"tables"`
}

// table is one measurement: rows of figures in named columns.
type table struct {
	Bench string   `json:"bench"`
	Title string   `json:"title"`
	Notes []string `json:"notes,omitempty"`
	Rows  []row    `json:"rows"`
}

type row struct {
	Name    string   `json:"name"`
	Figures []figure `json:"figures"`
}

// figure is one number. Units: ms, bytes, or none for a count.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

func (r report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r report) text(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s\n", r.At.Format("2006-01-02 15:04 MST"), r.Machine)
	for _, t := range r.Tables {
		fmt.Fprintf(w, "\n%s: %s\n", t.Bench, t.Title)
		tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for i, row := range t.Rows {
			if i == 0 {
				head := []string{""}
				for _, f := range row.Figures {
					head = append(head, f.Name)
				}
				fmt.Fprintln(tab, strings.Join(head, "\t")+"\t")
			}
			cells := []string{row.Name}
			for _, f := range row.Figures {
				cells = append(cells, f.String())
			}
			fmt.Fprintln(tab, strings.Join(cells, "\t")+"\t")
		}
		if err := tab.Flush(); err != nil {
			return err
		}
		for _, note := range t.Notes {
			fmt.Fprintln(w, "  "+note)
		}
	}
	return nil
}

func (f figure) String() string {
	switch f.Unit {
	case "ms":
		return fmt.Sprintf("%.1f ms", f.Value)
	case "bytes":
		return fmt.Sprintf("%.1f MB", f.Value/1e6)
	}
	return fmt.Sprintf("%.0f", f.Value)
}

func milliseconds(name string, d time.Duration) figure {
	return figure{name, float64(d.Microseconds()) / 1000, "ms"}
}

func count(name string, n int) figure { return figure{name, float64(n), ""} }

func megabytes(name string, n int64) figure { return figure{name, float64(n), "bytes"} }
