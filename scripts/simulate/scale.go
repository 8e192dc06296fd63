package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/simulate"
)

// scale runs the scenarios whose names hold the given text, prints a table, and writes JSON and a plot for each into a folder.
func scale(s settings, out io.Writer, now func() time.Time) error {
	var group sync.WaitGroup
	all := simulate.Scenarios()
	figures := make([]simulate.Figures, len(all))
	running := make(chan bool, max(1, s.AtOnce))
	for i, sc := range all {
		if !strings.Contains(sc.Name, s.Scenario) {
			continue
		}
		group.Go(func() {
			running <- true
			began := now()
			figures[i] = sc.Simulate(s.Seed)
			fmt.Fprintf(os.Stderr, "%s: %s\n", sc.Name, now().Sub(began).Round(time.Second))
			<-running
		})
	}
	group.Wait()
	done := figures[:0]
	for _, f := range figures {
		if f.Scenario != "" {
			done = append(done, f)
		}
	}
	for _, f := range done {
		if s.Out == "" {
			break
		}
		name := filepath.Join(s.Out, strings.NewReplacer(" ", "-", ",", "").Replace(f.Scenario)+".svg")
		if err := os.WriteFile(name, []byte(f.Plot()), 0o644); err != nil {
			return fmt.Errorf("write plot: %w", err)
		}
	}
	text, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	if s.JSON {
		_, err = fmt.Fprintln(out, string(text))
		return err
	}
	if s.Out != "" {
		if err := os.WriteFile(filepath.Join(s.Out, "scale.json"), append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write figures: %w", err)
		}
	}
	table(done, out)
	return nil
}

// table prints the figures as Markdown.
func table(list []simulate.Figures, out io.Writer) {
	fmt.Fprintln(out, "| scenario | sessions | wait p50 | p95 | worst | recovered after | slots used at most | longest sweep | RunTask throttled | violations |")
	fmt.Fprintln(out, "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
	for _, f := range list {
		recovered := "–"
		if f.Recovered != 0 {
			recovered = span(f.Recovered)
		}
		fmt.Fprintf(out, "| %s | %d | %s | %s | %s | %s | %d | %s | %d | %d |\n", f.Scenario, f.Sessions, span(f.Wait.Half), span(f.Wait.Most), span(f.Wait.Worst), recovered,
			f.Busiest, span(f.Sweep), f.Throttled, f.Violations)
	}
	fmt.Fprintln(out, "\n| scenario | DynamoDB | ECS | fleet API | SQS | KMS | at most in a minute: DynamoDB | ECS | fleet API |")
	fmt.Fprintln(out, "| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
	for _, f := range list {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", f.Scenario, f.Calls["DynamoDB"], f.Calls["ECS"], f.Calls["fleet API"], f.Calls["SQS"], f.Calls["KMS"],
			f.Peak["DynamoDB"], f.Peak["ECS"], f.Peak["fleet API"])
	}
	for _, f := range list {
		if f.Wait != f.Others {
			fmt.Fprintf(out, "\n%s: the others wait %s (p50), %s (p95), %s at worst.\n", f.Scenario, span(f.Others.Half), span(f.Others.Most), span(f.Others.Worst))
		}
	}
}

func span(seconds float64) string {
	if seconds < 0 {
		return "not within the time"
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
