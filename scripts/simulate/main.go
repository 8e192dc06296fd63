// Command simulate runs the product's core, driver and functions in worlds of virtual time in which everything goes wrong, and says whether what must always hold
// did. docs/simulator.md tells more.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/alecthomas/kong"

	"github.com/devin-outposts/devin-outposts-aws/shared/simulate"
)

type settings struct {
	Seeds    int              `default:"200" help:"How many worlds to simulate, one for each seed."`
	Seed     uint64           `default:"1" help:"The first seed."`
	Sessions int              `default:"50" help:"Devin sessions in each world."`
	Without  []simulate.Fault `placeholder:"FAULT,…" help:"Faults that never happen, by name (see docs/simulator.md)."`
	Trace    string           `placeholder:"SESSION" help:"Print the life of this session (devin-1, devin-2, …; * for everything). With one seed only."`
	JSON     bool             `name:"json" help:"Print the result as JSON."`
	Scale    bool             `help:"Run the scenarios of docs/scale.md instead."`
	Scenario string           `placeholder:"TEXT" help:"With --scale: only those whose name holds this text."`
	Out      string           `placeholder:"DIR" type:"existingdir" help:"With --scale: write scale.json and a plot of each scenario there."`
	AtOnce   int              `default:"1" help:"With --scale: how many scenarios to run at once; each takes a gigabyte or more."`
	NoShrink bool             `help:"Print a failing world as it is, and look for no smaller one."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("simulate"), kong.Description("Simulates sessions under faults in virtual time. Exit code 1 when a rule was broken."))
	debug.SetGCPercent(400) // worlds are made and thrown away
	if s.Scale {
		debug.SetGCPercent(100) // these are large
		if err := scale(s, os.Stdout, time.Now); err != nil {
			fmt.Fprintln(os.Stderr, "simulate:", err)
			os.Exit(1)
		}
		return
	}
	began := time.Now()
	p := progress{of: s.Seeds, began: began, told: began, out: os.Stderr}
	total := simulate.Seeds(simulate.Options{Seed: s.Seed, Sessions: s.Sessions, Without: s.Without, Trace: s.Trace}, s.Seeds, func(r simulate.Report) {
		p.add(r, time.Now())
		if s.Seeds == 1 && !s.JSON {
			for _, line := range r.Transcript {
				fmt.Println(line)
			}
		}
	})
	took := time.Since(began).Round(100 * time.Millisecond)
	if s.JSON {
		printJSON(total, took)
	} else {
		print(total, s, took)
	}
	if total.Violations > 0 {
		os.Exit(1)
	}
}

// print tells the result to people. Its last line is the sum.
func print(t simulate.Total, s settings, took time.Duration) {
	for i, r := range t.Failed {
		fmt.Printf("seed %d (%s): %s\n  replay: %s\n", r.Options.Seed, r.Profile, r.Violations[0], r.Options.Command())
		if i > 0 {
			continue
		}
		if !s.NoShrink {
			r = simulate.Shrink(r)
			fmt.Printf("  smaller: %s\n", r.Options.Command())
		} else {
			r.Options.Trace = r.Violations[0].Session
			r = simulate.Run(r.Options)
		}
		for _, line := range r.Transcript {
			fmt.Println("    " + line)
		}
	}
	for _, f := range simulate.Faults {
		fmt.Printf("%-18s %d\n", f, t.Faults[f])
	}
	fmt.Printf("%d seeds, %d sessions, %d faults injected, %d violations, in %s\n", t.Seeds, t.Sessions, t.Injected(), t.Violations, took)
}

func printJSON(t simulate.Total, took time.Duration) {
	type failure struct {
		Seed   uint64 `json:"seed"`
		Rule   string `json:"rule"`
		Text   string `json:"text"`
		Replay string `json:"replay"`
	}
	out := struct {
		Seeds      int                    `json:"seeds"`
		Sessions   int                    `json:"sessions"`
		Injected   int                    `json:"faults_injected"`
		Violations int                    `json:"violations"`
		Seconds    float64                `json:"seconds"`
		Faults     map[simulate.Fault]int `json:"faults"`
		Ends       map[string]int         `json:"leases_ended"`
		Failures   []failure              `json:"failures"`
	}{t.Seeds, t.Sessions, t.Injected(), t.Violations, took.Seconds(), t.Faults, t.Ends, []failure{}}
	for _, r := range t.Failed {
		out.Failures = append(out.Failures, failure{r.Options.Seed, string(r.Violations[0].Rule), r.Violations[0].String(), r.Options.Command()})
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	_ = e.Encode(out)
}
