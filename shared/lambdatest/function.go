package lambdatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Config says what to run and how.
type Config struct {
	// Name of the function; its instances see it as AWS_LAMBDA_FUNCTION_NAME.
	Name string
	// Binary is the path of the bootstrap.
	Binary string
	// Env is the environment of the instances, all of it but what Lambda itself sets. Nothing of this process's own environment is inherited.
	Env map[string]string
	// Timeout is the most that one invocation may take. Required.
	Timeout time.Duration
	// Instances is how many invocations may run at once; 0 means 10.
	Instances int
	// Logs gets what the instances write to standard output and standard error; nil drops it. Writes are serialised.
	Logs io.Writer
	// Now is the clock that the deadlines in invocations come from. Required.
	Now func() time.Time
}

// ErrClosed says that the function was closed before or while an invocation ran.
var ErrClosed = errors.New("the function is closed")

// Error says how an invocation failed in the function, as opposed to in its surroundings.
type Error struct {
	Function string
	Kind     Kind
	// Type and Message are the function's own words when Kind is Unhandled, and ours otherwise.
	Type, Message string
}

// Kind is how an invocation failed.
type Kind string

// The kinds of failure.
const (
	Unhandled Kind = "unhandled" // the handler answered an error, or panicked
	TimedOut  Kind = "timed out" // killed at the timeout
	Exited    Kind = "exited"    // the process ended while it worked on the invocation
	InitError Kind = "init"      // the process ended before it asked for its first invocation, or never asked
)

func (e *Error) Error() string {
	return fmt.Sprintf("invoke %s: %s: %s: %s", e.Function, e.Kind, e.Type, e.Message)
}

// Report is what is known of an instance that has ended.
type Report struct {
	// Init is the time from the start of the process to its first request for an invocation; zero when it made none.
	Init time.Duration
	// Invocations that it answered, with a result or an error.
	Invocations int
	// ExitCode of the process; -1 when a signal ended it.
	ExitCode int
}

// Function is a function with its instances. Its methods may be called concurrently.
type Function struct {
	config Config
	logs   *lockedWriter
	slots  chan struct{} // one for each invocation that runs
	closed chan struct{}
	once   sync.Once
	ends   sync.WaitGroup // one for each process

	mu      sync.Mutex
	idle    []*instance
	all     map[*instance]bool
	reports []Report
}

// New prepares a function. No process starts before the first invocation.
func New(config Config) *Function {
	if config.Instances == 0 {
		config.Instances = 10
	}
	if config.Logs == nil {
		config.Logs = io.Discard
	}
	return &Function{
		config: config, logs: &lockedWriter{to: config.Logs}, slots: make(chan struct{}, config.Instances), closed: make(chan struct{}), all: map[*instance]bool{},
	}
}

// Invoke runs one invocation and answers what the function did. Errors of the function are of type *[Error]. When the context ends first, the instance is
// killed, and the context's error comes back.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case <-f.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case f.slots <- struct{}{}:
	}
	defer func() { <-f.slots }()
	i, err := f.take()
	if err != nil {
		return nil, err
	}
	answer, err := i.run(ctx, payload)
	for errors.Is(err, errGone) {
		if i, err = f.take(); err != nil {
			return nil, err
		}
		answer, err = i.run(ctx, payload)
	}
	var failure *Error
	if err == nil || (errors.As(err, &failure) && failure.Kind == Unhandled) {
		f.giveBack(i)
	} else {
		i.kill()
	}
	return answer, err
}

// take answers a waiting instance, or a new one.
func (f *Function) take() (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.closed:
		return nil, ErrClosed
	default:
	}
	for len(f.idle) > 0 {
		i := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		select {
		case <-i.exited: // it died between two invocations
		default:
			return i, nil
		}
	}
	i, err := f.start()
	if err != nil {
		return nil, fmt.Errorf("start an instance of %s: %w", f.config.Name, err)
	}
	f.all[i] = true
	f.ends.Add(1)
	go func() {
		defer f.ends.Done()
		report := i.wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.all, i)
		f.reports = append(f.reports, report)
	}()
	return i, nil
}

func (f *Function) giveBack(i *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = append(f.idle, i)
}

// Reports tells of the instances that have ended, in the order they did. After [Function.Close], that is all of them.
func (f *Function) Reports() []Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Report(nil), f.reports...)
}

// Close kills all instances and waits for their ends. Invocations under way answer ErrClosed.
func (f *Function) Close() {
	f.once.Do(func() {
		f.mu.Lock()
		close(f.closed)
		for i := range f.all {
			i.kill()
		}
		f.mu.Unlock()
	})
	f.ends.Wait()
}

// lockedWriter lets instances share one destination of logs.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
