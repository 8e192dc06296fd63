package life

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/exit"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/serve"
)

const setupTime = 10 * time.Minute // for OUTPOST_SETUP

// What a session may log: bursts of a build pass, an endless stream is thinned out.
const (
	linesPerSecond = 100
	bytesPerSecond = 64 << 10
	burstSeconds   = 20
)

// setUp runs the image's or customer's set-up script as the session's user, without any token.
func (w *Worker) setUp(ctx context.Context) error {
	// From here on every child is waited for by the reaper; the AWS SDK, which may run a credential process, is done.
	w.runner = serve.Runner{Reaper: serve.NewReaper(), Log: w.Log}
	script := string(w.settings.Setup)
	if script == "" {
		return nil
	}
	late := fmt.Errorf("not done after %s", setupTime)
	limited, cancel := context.WithTimeoutCause(ctx, setupTime, late)
	defer cancel()
	ending, err := w.run(limited, serve.Command{Path: script, Env: custody.Environ(w.Environ, w.account), Grace: min(10*time.Second, w.settings.StopPeriod())}, "setup")
	switch {
	case err != nil:
		return fmt.Errorf("set-up script: %w", err)
	case errors.Is(ending.Stopped, late):
		return fmt.Errorf("set-up script %s: %w", script, late)
	case ending.Stopped != nil:
		return exit.With(exit.Stopped, ending.Stopped)
	case !ending.OK():
		return fmt.Errorf("set-up script %s: %s", script, ending)
	}
	return nil
}

// serveSession runs the remote until it ends or is stopped.
func (w *Worker) serveSession(ctx context.Context) error {
	began := w.Now()
	ending, err := w.run(ctx, serve.Command{
		Path:  w.program.path,
		Args:  w.arguments(),
		Env:   custody.Environ(w.Environ, w.account, w.variables()...),
		Grace: w.settings.StopPeriod(),
		Begun: func(pid int) {
			w.phases = append(w.phases, "start_ms", w.Now().Sub(began).Milliseconds())
			w.Log.Info("remote started", "pid", pid, "mode", w.program.mode, "user", w.account.Name)
		},
	}, "remote")
	switch {
	case err != nil:
		return exit.With(exit.CannotStart, err)
	case ending.Stopped != nil:
		return exit.With(exit.Stopped, fmt.Errorf("%w; the remote's end: %s", ending.Stopped, ending))
	case !ending.OK():
		return exit.With(exit.RemoteFailed, fmt.Errorf("the remote failed: %s", ending))
	}
	return nil
}

// run runs a command of the session: as its user, in its workspace, its output in the log.
func (w *Worker) run(ctx context.Context, c serve.Command, process string) (serve.Ending, error) {
	limiter := &serve.Limiter{Log: w.Log, Now: w.Now, LinesPerSecond: linesPerSecond, BytesPerSecond: bytesPerSecond, Burst: burstSeconds}
	stdout := serve.NewOutput(w.Log, process, "stdout", w.Secrets, limiter)
	stderr := serve.NewOutput(w.Log, process, "stderr", w.Secrets, limiter)
	c.Dir, c.As, c.Sudo = w.paths.Work, &w.account, bool(w.settings.AllowSudo)
	c.Stdout, c.Stderr = stdout, stderr
	ending, err := w.runner.Run(ctx, c)
	stdout.Close()
	stderr.Close()
	limiter.Close()
	return ending, err
}
