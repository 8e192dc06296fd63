// Command demo shows the whole product on this machine: sessions wait in a simulated queue, are offered, claimed and launched, are served by real worker processes, and
// everything is given back. It needs Go and nothing else, and talks to loopback only.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

type options struct {
	Sessions  int           `default:"5" help:"How many sessions to enqueue."`
	Scenario  string        `default:"usual" help:"What happens to the sessions: ${scenarios}"`
	Poll      bool          `help:"Dispatch by listing each second, instead of following the queue's stream."`
	Slots     int           `default:"3" help:"How many may run at once."`
	Work      time.Duration `default:"1500ms" help:"How long each session works between two steps."`
	JSON      bool          `name:"json" help:"Print one JSON object a line instead of a table."`
	Plain     bool          `help:"Print lines instead of a table that redraws itself (the default when the output is no terminal)."`
	Timeout   time.Duration `default:"90s" help:"Give up after this long, not counting the build."`
	Logs      string        `type:"path" placeholder:"FILE" help:"Keep the functions' JSON log lines in this file."`
	WorkerLog string        `type:"path" placeholder:"FILE" help:"Keep the workers' output in this file."`
	Binaries  string        `type:"existingdir" placeholder:"DIR" help:"Run the built functions of this folder (dist/functions) under a Lambda runtime API, instead of in this process. Build them for this machine first: make build FUNCTION_ARCH=amd64 (or arm64)."`
}

func main() {
	var o options
	var told []string
	for _, name := range names() {
		told = append(told, name+" ("+scenarios[name].help+")")
	}
	kong.Parse(&o, kong.Name("demo"), kong.Vars{"scenarios": strings.Join(told, "; ") + "."}, kong.Description("Shows sessions going from the queue to a worker and back, on this machine alone: "+
		"one worker is killed and replaced, one session sleeps and is resumed. Exits 0 only if every session was served and nothing was left behind."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if _, known := scenarios[o.Scenario]; !known {
		return fmt.Errorf("--scenario is %q: give one of %s", o.Scenario, strings.Join(names(), ", "))
	}
	if o.Sessions < 1 || o.Slots < 1 {
		return fmt.Errorf("--sessions is %d and --slots is %d: give at least 1 of each", o.Sessions, o.Slots)
	}
	dir, err := os.MkdirTemp("", "outposts-demo-")
	if err != nil {
		return fmt.Errorf("make a directory to work in: %w", err)
	}
	defer os.RemoveAll(dir)
	show := newShow(o, time.Now)
	show.note("building the worker and the stand-in for Devin's remote (the first time takes a minute or two) …")
	worker, remote, err := build(ctx, dir)
	if err != nil {
		return err
	}
	logs, closeLogs, err := create(o.Logs)
	if err != nil {
		return err
	}
	defer closeLogs()
	output, closeOutput, err := create(o.WorkerLog)
	if err != nil {
		return err
	}
	defer closeOutput()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	l, err := laptop.New(ctx, laptop.Options{Now: time.Now, MaxSessions: o.Slots, Worker: worker, Remote: remote, Dir: dir, Functions: o.Binaries, Starting: 400 * time.Millisecond, Watch: !o.Poll, PollEvery: map[bool]time.Duration{true: time.Second, false: time.Minute}[o.Poll], Logs: logs, TaskOutput: output})
	if err != nil {
		return err
	}
	defer l.Close()
	return play(ctx, o, l, show)
}

// build builds the two programs that a task runs.
func build(ctx context.Context, dir string) (worker, remote string, err error) {
	worker = filepath.Join(dir, "outpost-worker")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", worker, "github.com/devin-outposts/devin-outposts-aws/worker")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build the worker (run the demo inside the project, with Go on the PATH): %w\n%s", err, out)
	}
	remote, err = outpoststest.BuildRemote(ctx, dir)
	return worker, remote, err
}

// create opens a log file; an empty name drops what is written.
func create(name string) (*os.File, func(), error) {
	if name == "" {
		name = os.DevNull
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open a log file: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}
