// Command bench measures the product on this machine and prints figures; it judges nothing. docs/benchmarks.md says what each figure means.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type options struct {
	Only     []string `enum:"pickup,size,start,sweep" placeholder:"NAME" help:"Measure only this; may be given several times: pickup, size, start, sweep."`
	Sessions int      `default:"200" help:"How many sessions pickup queues, in each of its two ways."`
	Leases   []int    `default:"100,1000,10000" help:"How many active leases sweep is measured with."`
	Starts   int      `default:"10" help:"How many instances of each function are started."`
	Dist     string   `default:"dist/functions" type:"path" help:"Folder of the built functions whose sizes are measured."`
	JSON     bool     `name:"json" help:"Print JSON instead of tables."`
	Profile  string   `type:"path" placeholder:"FILE" help:"Write a CPU profile of the sweep with the most leases, and its allocations beside it (FILE.allocs)."`
}

// bench is one measurement.
type bench struct {
	name string
	run  func(context.Context, options) ([]table, error)
}

var benches = []bench{{"pickup", pickup}, {"size", size}, {"start", start}, {"sweep", sweepLeases}}

func main() {
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Description("Measures pickup, sizes, start-up, memory and sweep on this machine. It prints figures and judges nothing: "+
		"the exit code is 0 when everything could be measured."), kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out, notes io.Writer) error {
	if o.Sessions < 1 || o.Starts < 1 || len(o.Leases) == 0 || slices.Min(o.Leases) < 1 {
		return fmt.Errorf("--sessions is %d, --starts is %d, --leases is %v: give at least 1 of each", o.Sessions, o.Starts, o.Leases)
	}
	r := report{At: time.Now().UTC(), Machine: thisMachine()}
	for _, b := range benches {
		if len(o.Only) > 0 && !slices.Contains(o.Only, b.name) {
			continue
		}
		fmt.Fprintf(notes, "measuring %s …\n", b.name)
		tables, err := b.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		r.Tables = append(r.Tables, tables...)
	}
	if o.JSON {
		return r.json(out)
	}
	return r.text(out)
}
