package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"syscall"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
)

// Command is a process of a session.
type Command struct {
	Path   string   // absolute
	Args   []string // without the program's own name
	Dir    string
	Env    []string // all of it
	As     *custody.Account
	Sudo   bool // it may gain privileges
	Stdout io.Writer
	Stderr io.Writer
	Grace  time.Duration // from being asked to end to being killed
	Begun  func(pid int) // called once it runs; may be nil
}

// Ending is how a command ended.
type Ending struct {
	Status  syscall.WaitStatus
	Stopped error // why it was told to end, when that came first; else nil
	Killed  bool  // it did not end within its grace
}

// OK reports whether the command ended by itself, and well.
func (e Ending) OK() bool { return e.Stopped == nil && e.Status.Exited() && e.Status.ExitStatus() == 0 }

// String says it in words.
func (e Ending) String() string {
	switch {
	case e.Status.Signaled():
		return fmt.Sprintf("killed by signal %d (%s)", int(e.Status.Signal()), e.Status.Signal())
	default:
		return fmt.Sprintf("exit code %d", e.Status.ExitStatus())
	}
}

const (
	sweepTime = 2 * time.Second // for what a command leaves behind to die
	drainTime = 2 * time.Second // for the rest of its output
)

// Runner runs one command after the other.
type Runner struct {
	Reaper *Reaper
	Log    *slog.Logger
}

// Run starts c and waits until it has ended and nothing of it is left. When ctx ends first, c gets SIGTERM at once and, after
// its grace, SIGKILL with its whole group. An error means that c could not be started.
func (r Runner) Run(ctx context.Context, c Command) (Ending, error) {
	out, err := openPipes(c)
	if err != nil {
		return Ending{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	type started struct {
		pid    int
		ending <-chan syscall.WaitStatus
		err    error
	}
	begun, over := make(chan started), make(chan struct{})
	go func() {
		// The thread is given up with the goroutine, never reused: its privileges are gone. Until then it must live, for the
		// child would be killed with it.
		runtime.LockOSThread()
		var s started
		if s.err = custody.Confine(c.Sudo, c.As != nil && !c.As.Own); s.err == nil {
			s.pid, s.ending, s.err = r.Reaper.start(c.Path, append([]string{c.Path}, c.Args...), &syscall.ProcAttr{
				Dir: c.Dir, Env: c.Env, Files: out.files(), Sys: custody.Attributes(c.As)})
		}
		// On its way the child changed user while it shared our memory, whereupon the kernel set fs.suid_dumpable's value.
		s.err = errors.Join(s.err, custody.Seal())
		begun <- s
		<-over
	}()
	defer close(over)
	s := <-begun
	out.closeTheirs()
	if s.err != nil {
		out.drain(0)
		return Ending{}, fmt.Errorf("start %s: %w", c.Path, explain(s.err))
	}
	if c.Begun != nil {
		c.Begun(s.pid)
	}
	ending := r.wait(ctx, s.pid, s.ending, c.Grace)
	_ = syscall.Kill(-s.pid, syscall.SIGKILL) // what is left of its group, if anything
	r.sweep()
	if !out.drain(drainTime) {
		r.Log.Warn("output cut off: a process outlived the session and holds on to it")
	}
	return ending, nil
}

func (r Runner) wait(ctx context.Context, pid int, ending <-chan syscall.WaitStatus, grace time.Duration) Ending {
	select {
	case status := <-ending:
		return Ending{Status: status}
	case <-ctx.Done():
	}
	stopped := context.Cause(ctx)
	r.Log.Info("asking the process to end", "pid", pid, "reason", stopped.Error(), "grace_seconds", grace.Seconds())
	_ = syscall.Kill(pid, syscall.SIGTERM) // gone already: its ending arrives
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case status := <-ending:
		return Ending{Status: status, Stopped: stopped}
	case <-patience.C:
	}
	r.Log.Warn("killing the process group: it did not end in time", "pid", pid)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return Ending{Status: <-ending, Stopped: stopped, Killed: true}
}

// sweep kills descendants that left the command's group. Each that dies hands its children to us, until none is left.
func (r Runner) sweep() {
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for waited := time.Duration(0); waited < sweepTime; waited += 5 * time.Millisecond {
		left := children()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-pause.C
		r.Reaper.reap()
	}
	r.Log.Warn("processes of the session could not be killed", "pids", children())
}

// explain says what the operating system's words mean for a program that will not start.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w (not a program for %s/%s)", err, runtime.GOOS, runtime.GOARCH)
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("%w (the program, its interpreter or its dynamic loader is missing from the image)", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w (the session's user may not execute it, or may not enter the workspace)", err)
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w (the container lacks CAP_SETUID or CAP_SETGID, or its volume is mounted noexec)", err)
	}
	return err
}
