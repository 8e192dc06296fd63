package ecstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// process is what a task runs.
type process struct {
	pid       int // 0 for a stub
	exited    <-chan int
	terminate func()
	kill      func()
}

// outputGrace is how long a dead process's output is waited for, when something that it started still holds it.
const outputGrace = 200 * time.Millisecond

func (t *task) launch() (process, error) {
	env := maps.Clone(t.d.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, t.env)
	if t.d.Stub != nil {
		return t.stub(env), nil
	}
	if len(t.d.Command) == 0 {
		return process{}, fmt.Errorf("the task definition %s has neither Command nor Stub", t.definition)
	}
	cmd := exec.Command(t.d.Command[0], t.d.Command[1:]...)
	cmd.Env = []string{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	if t.d.WorkRoot != "" {
		cmd.Dir = filepath.Join(t.d.WorkRoot, t.id)
		if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
			return process{}, err
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = outputGrace
	finish := func() {}
	if t.server.o.Output != nil {
		lines := &lineWriter{to: t.server.o.Output, lock: &t.server.output, prefix: t.id[:8] + " "}
		cmd.Stdout, cmd.Stderr, finish = lines, lines, lines.flush
	}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	exited := make(chan int, 1)
	go func() { // ends with the process; wait always takes its word
		_ = cmd.Wait() // what matters of it is in ProcessState
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		finish()
		exited <- exitCode(cmd.ProcessState)
	}()
	return process{
		pid: cmd.Process.Pid, exited: exited,
		terminate: func() { cmd.Process.Signal(syscall.SIGTERM) }, // it may have exited already
		kill:      func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) },
	}, nil
}

// exitCode is a process's exit code as a container runtime tells it: 128 and the signal for one that was killed.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// stub runs a function as a task. Once killed, its end is not waited for but by Close.
func (t *task) stub(env map[string]string) process {
	ctx, cancel := context.WithCancelCause(context.Background())
	exited := make(chan int, 2)
	t.server.lives.Add(1)
	go func() {
		defer t.server.lives.Done()
		exited <- t.d.Stub(ctx, env)
		cancel(nil)
	}()
	return process{
		exited:    exited,
		terminate: func() { cancel(ErrTerminated) },
		kill: func() {
			cancel(ErrKilled)
			exited <- 128 + int(syscall.SIGKILL)
		},
	}
}

// lineWriter passes on whole lines, each with a prefix.
type lineWriter struct {
	to     io.Writer
	lock   *sync.Mutex // of to
	prefix string
	rest   []byte
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		w.put(line)
		w.rest = rest
	}
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.put(w.rest)
		w.rest = nil
	}
}

func (w *lineWriter) put(line []byte) {
	w.lock.Lock()
	defer w.lock.Unlock()
	fmt.Fprintf(w.to, "%s%s\n", w.prefix, line)
}
