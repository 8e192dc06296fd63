// Outpost-worker is the entry point of a task that serves one Devin session. See docs/worker.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/exit"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/life"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/redact"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/serve"
)

var version = "development" // set when a release is built

func main() {
	if err := custody.Seal(); err != nil { // before anything else, so that no secret was ever readable
		fmt.Fprintln(os.Stderr, "outpost-worker:", err)
		os.Exit(int(exit.Unfit))
	}
	var cli struct {
		Version kong.VersionFlag `help:"Print the version."`
		Serve   serveCommand     `cmd:"" default:"1" help:"Serve the session that the environment describes (the default)."`
		Doctor  doctorCommand    `cmd:"" help:"Check whether this machine is fit to serve a session, and say what to do if not."`
	}
	ctx := kong.Parse(&cli, kong.Name("outpost-worker"), kong.Vars{"version": version},
		kong.Description("Serves one Devin session in the container it is started in."))
	ctx.FatalIfErrorf(ctx.Run())
}

type serveCommand struct{}

func (serveCommand) Run() error {
	secrets := &redact.Secrets{}
	log := slog.New(slog.NewJSONHandler(secrets.Whole(os.Stdout), nil))
	ctx, done := serve.Signalled(context.Background(), log)
	worker := life.Worker{Environ: os.Environ(), Log: log, Secrets: secrets, Now: time.Now, Version: version}
	code := worker.Serve(ctx)
	done()
	os.Exit(int(code))
	return nil
}

type doctorCommand struct {
	JSON bool `name:"json" help:"Print JSON instead of a table."`
}

func (c doctorCommand) Run() error {
	os.Exit(int(life.Doctor(context.Background(), os.Environ(), time.Now, os.Stdout, c.JSON)))
	return nil
}
