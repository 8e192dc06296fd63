// Command fleetsim runs the simulated fleet service of Devin Outposts, for any
// client to be pointed at: the queue API, the distribution of devin-remote, the
// gateway, and a control API that moves sessions and switches faults on.
// docs/fleetsim.md tells how to use it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	var settings settings
	kong.Parse(&settings,
		kong.Name("fleetsim"),
		kong.Description("Simulates the fleet service of Devin Outposts: queue, claims, gateway, binaries. Stop it with Ctrl-C."),
		kong.Vars{"token": defaultToken, "outpost": defaultOutpost},
	)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, settings, time.Now, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fleetsim:", err)
		os.Exit(1)
	}
}
