// Command outpostctl shows what a deployment does, and empties it: its slots, its sessions, its health, and one session in full. It reads the same table, queue
// and API as the functions do, and changes only what drain, resume and stop say. docs/outpostctl.md has the rest.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type cli struct {
	Stack  string `placeholder:"NAME" help:"CloudFormation stack of the deployment. Without it, the functions' own variables are used when LEASE_TABLE is set, else the stack that cdk.json names (devin-outposts when it names none)."`
	APIURL string `name:"api-url" placeholder:"URL" env:"DEVIN_API_URL" help:"Base URL of Devin's API, if it is not the stack's or https://api.devin.ai."`
	JSON   bool   `name:"json" help:"Print JSON for machines instead of a table."`

	Status  statusCmd  `cmd:"" help:"Show the outposts and the sessions that hold a slot."`
	Session sessionCmd `cmd:"" help:"Show everything known of one session, and what would be done next for it."`
	Doctor  doctorCmd  `cmd:"" help:"Check the deployment: token, outposts, table, queues, key, cluster, poll, breakers. Exits 1 if a check fails."`
	Drain   drainCmd   `cmd:"" help:"Empty the outposts: nothing new is taken, and what runs is waited for, or stopped with --now."`
	Resume  resumeCmd  `cmd:"" help:"End draining: sessions are taken again."`
	Stop    stopCmd    `cmd:"" help:"Stop a session's task. Unless its outpost drains, the session then gets another."`
}

// tool is what every command works with.
type tool struct {
	stack, apiURL string
	json          bool
	out, notes    io.Writer // what was asked for; what is said beside it
	now           func() time.Time
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("outpostctl"), kong.Description("Looks after a deployment of Devin outposts in an AWS account. "+
		"It signs in as the AWS CLI does (AWS_PROFILE, AWS_REGION, …)."), kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	k.BindTo(ctx, (*context.Context)(nil))
	err := k.Run(&tool{stack: c.Stack, apiURL: c.APIURL, json: c.JSON, out: os.Stdout, notes: os.Stderr, now: time.Now})
	if err != nil {
		fmt.Fprintln(os.Stderr, "outpostctl: "+strings.ReplaceAll(err.Error(), "\n", "\noutpostctl: "))
		os.Exit(1)
	}
}
