package lambdatest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// initLimit is how long an instance may take to ask for its first invocation, as in Lambda.
const initLimit = 10 * time.Second

// errGone says that an instance ended between two invocations, so that another one can take the next. It is what a process does after a panic.
var errGone = errors.New("the instance is gone")

// instance is one process of a function, with a runtime API of its own.
type instance struct {
	f      *Function
	cmd    *exec.Cmd
	server *http.Server
	began  time.Time
	next   chan *invocation // to the process's request for the next invocation
	exited chan struct{}    // closed when the process has ended

	mu       sync.Mutex
	current  *invocation
	count    int // invocations handed out, which names them
	answered int
	init     time.Duration
	initErr  *Error
}

// invocation is one piece of work for an instance.
type invocation struct {
	id      string
	payload []byte
	done    chan outcome // buffered: the answer can come after nobody waits any more
}

type outcome struct {
	answer []byte
	err    error
}

// start makes an instance; the caller holds f.mu.
func (f *Function) start() (*instance, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &instance{f: f, next: make(chan *invocation), exited: make(chan struct{}), began: f.config.Now()}
	i.server = &http.Server{Handler: i.api(), ReadHeaderTimeout: 10 * time.Second}
	i.cmd = exec.Command(f.config.Binary)
	i.cmd.Stdout, i.cmd.Stderr = f.logs, f.logs
	i.cmd.WaitDelay = time.Second
	// What Lambda sets (its developer guide, "Defined runtime environment variables"), as far as programs in Go look at it.
	environment := map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": f.config.Name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
		"AWS_LAMBDA_RUNTIME_API": listener.Addr().String(), "LAMBDA_TASK_ROOT": "/var/task", "_HANDLER": "bootstrap", "TZ": ":UTC",
	}
	for name, value := range f.config.Env {
		environment[name] = value
	}
	i.cmd.Env = []string{}
	for name, value := range environment {
		i.cmd.Env = append(i.cmd.Env, name+"="+value)
	}
	if err := i.cmd.Start(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go i.server.Serve(listener) //nolint:errcheck // ends with ErrServerClosed when the process has ended
	return i, nil
}

// wait answers when the process has ended.
func (i *instance) wait() Report {
	i.cmd.Wait() //nolint:errcheck // the state says it all
	close(i.exited)
	i.server.Close() // nobody is left to talk to
	i.mu.Lock()
	defer i.mu.Unlock()
	return Report{Init: i.init, Invocations: i.answered, ExitCode: i.cmd.ProcessState.ExitCode()}
}

func (i *instance) kill() {
	i.cmd.Process.Kill() // it may have ended by itself
}

// run hands one invocation to the process and waits for what comes of it.
func (i *instance) run(ctx context.Context, payload []byte) ([]byte, error) {
	i.mu.Lock()
	i.count++
	inv := &invocation{id: fmt.Sprintf("%d-%d", i.cmd.Process.Pid, i.count), payload: payload, done: make(chan outcome, 1)}
	i.mu.Unlock()

	start := time.NewTimer(initLimit)
	defer start.Stop()
	select {
	case i.next <- inv:
	case <-i.exited:
		return nil, i.failedInit("Runtime.ExitError", fmt.Sprintf("the process ended before it asked for an invocation: %v", i.cmd.ProcessState))
	case <-start.C:
		return nil, i.failedInit("Runtime.InitTimeout", fmt.Sprintf("the process did not ask for an invocation within %v", initLimit))
	case <-i.f.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	limit := time.NewTimer(i.f.config.Timeout)
	defer limit.Stop()
	select {
	case result := <-inv.done:
		return result.answer, result.err
	case <-i.exited:
	case <-limit.C:
		return nil, i.failed(TimedOut, "Sandbox.Timedout", fmt.Sprintf("Task timed out after %v", i.f.config.Timeout))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// A process may answer and then end at once.
	select {
	case result := <-inv.done:
		return result.answer, result.err
	case <-i.f.closed:
		return nil, ErrClosed
	default:
		return nil, i.failed(Exited, "Runtime.ExitError", fmt.Sprintf("the process ended: %v", i.cmd.ProcessState))
	}
}

func (i *instance) failed(kind Kind, errorType, message string) *Error {
	return &Error{Function: i.f.config.Name, Kind: kind, Type: errorType, Message: message}
}

// failedInit prefers what the process itself said about it.
func (i *instance) failedInit(errorType, message string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.initErr != nil {
		return i.initErr
	}
	if i.init > 0 {
		return errGone
	}
	return i.failed(InitError, errorType, message)
}

// deadline is what the process is told: milliseconds since 1970.
func (i *instance) deadline() string {
	return strconv.FormatInt(i.f.config.Now().Add(i.f.config.Timeout).UnixMilli(), 10)
}
