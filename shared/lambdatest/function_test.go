package lambdatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"
)

// The test binary is its own bootstrap: a real program on AWS's real runtime client.
func TestMain(m *testing.M) {
	switch os.Getenv("ROLE") {
	case "":
		os.Exit(m.Run())
	case "broken":
		fmt.Fprintln(os.Stderr, "OUTPOSTS is missing")
		os.Exit(1)
	}
	lambda.Start(handle)
}

type request struct {
	Do   string
	File string // holding waits until it exists
}

type reply struct {
	PID       int
	Env       []string
	Remaining time.Duration
}

func handle(ctx context.Context, r request) (reply, error) {
	switch r.Do {
	case "fail":
		return reply{}, errors.New("no such outpost")
	case "panic":
		panic("out of cheese")
	case "exit":
		os.Exit(7)
	case "hang":
		select {}
	case "meet":
		fmt.Println("met")
		for {
			if _, err := os.Stat(r.File); err == nil {
				break
			}
			time.Sleep(time.Millisecond) // between two looks for the other process's file
		}
	}
	deadline, _ := ctx.Deadline()
	return reply{PID: os.Getpid(), Env: os.Environ(), Remaining: time.Until(deadline)}, nil
}

type bundle struct {
	t    *testing.T
	f    *Function
	logs *log
}

type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // gets a word at each write
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

// until waits for a word to stand in the log so many times.
func (l *log) until(word string, times int) {
	for {
		l.mu.Lock()
		n := strings.Count(l.text.String(), word)
		l.mu.Unlock()
		if n >= times {
			return
		}
		<-l.more
	}
}

func start(t *testing.T, change func(*Config)) bundle {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &log{more: make(chan struct{}, 1)}
	config := Config{Name: "claim", Binary: binary, Env: map[string]string{"ROLE": "function"}, Timeout: 30 * time.Second, Logs: l, Now: time.Now}
	if change != nil {
		change(&config)
	}
	f := New(config)
	t.Cleanup(f.Close)
	return bundle{t, f, l}
}

func (b bundle) invoke(r request) (reply, error) {
	b.t.Helper()
	payload, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.f.Invoke(b.t.Context(), payload)
	if err != nil {
		return reply{}, err
	}
	var out reply
	if err := json.Unmarshal(answer, &out); err != nil {
		b.t.Fatalf("answer %s: %v", answer, err)
	}
	return out, nil
}

func wantError(t *testing.T, err error, want Error) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestOneInstanceServesOneInvocationAfterTheOtherWithADeadline(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	first, err := b.invoke(request{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.invoke(request{})
	if err != nil {
		t.Fatal(err)
	}
	if first.PID != second.PID {
		t.Errorf("processes %d and %d served two invocations that did not overlap", first.PID, second.PID)
	}
	if first.Remaining <= 0 || first.Remaining > 30*time.Second {
		t.Errorf("the handler had %v left of 30 s", first.Remaining)
	}
	b.f.Close()
	reports := b.f.Reports()
	if len(reports) != 1 || reports[0].Invocations != 2 || reports[0].Init <= 0 || reports[0].ExitCode != -1 {
		t.Errorf("reports %+v", reports)
	}
}

func TestInstancesInheritNothing(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	got, err := b.invoke(request{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, variable := range got.Env {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "AWS_LAMBDA_") && !strings.Contains("LAMBDA_TASK_ROOT _HANDLER TZ ROLE _X_AMZN_TRACE_ID", name) {
			t.Errorf("the instance sees %s", name)
		}
	}
}

func TestErrorsAndPanicsOfTheHandlerComeBackInItsWords(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	_, err := b.invoke(request{Do: "fail"})
	wantError(t, err, Error{Function: "claim", Kind: Unhandled, Type: "errorString", Message: "no such outpost"})
	_, err = b.invoke(request{Do: "panic"})
	wantError(t, err, Error{Function: "claim", Kind: Unhandled, Type: "string", Message: "out of cheese"})
	if _, err := b.invoke(request{}); err != nil {
		t.Errorf("after a panic, which ends the process: %v", err)
	}
}

func TestAnInstanceThatCrashesIsReplaced(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	first, err := b.invoke(request{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.invoke(request{Do: "exit"})
	wantError(t, err, Error{Function: "claim", Kind: Exited, Type: "Runtime.ExitError", Message: "the process ended: exit status 7"})
	second, err := b.invoke(request{})
	if err != nil {
		t.Fatal(err)
	}
	if first.PID == second.PID {
		t.Error("the same process goes on")
	}
}

func TestAnInvocationThatTakesTooLongIsKilled(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	_, err := b.invoke(request{Do: "hang"})
	wantError(t, err, Error{Function: "claim", Kind: TimedOut, Type: "Sandbox.Timedout", Message: "Task timed out after 50ms"})
}

func TestInvocationsOverlapUpToTheLimit(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *Config) { c.Instances = 2 })
	gate := t.TempDir() + "/open"
	pids := make(chan int, 3)
	for range 3 {
		go func() {
			got, err := b.invoke(request{Do: "meet", File: gate})
			if err != nil {
				t.Error(err)
			}
			pids <- got.PID
		}()
	}
	b.logs.until("met", 2) // both run at once, and neither can end yet
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for range 3 {
		seen[<-pids] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d processes served three invocations with a limit of two", len(seen))
	}
}

func TestAProgramThatDoesNotStartSaysSo(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *Config) { c.Env = map[string]string{"ROLE": "broken"} })
	_, err := b.invoke(request{})
	wantError(t, err, Error{Function: "claim", Kind: InitError, Type: "Runtime.ExitError", Message: "the process ended before it asked for an invocation: exit status 1"})
	b.logs.until("OUTPOSTS is missing", 1)
	missing := start(t, func(c *Config) { c.Binary = "/nowhere/bootstrap" })
	if _, err := missing.invoke(request{}); err == nil || !strings.Contains(err.Error(), "start an instance of claim") {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	failed := make(chan error, 1)
	go func() {
		_, err := b.invoke(request{Do: "meet", File: "/nowhere/ever"})
		failed <- err
	}()
	b.logs.until("met", 1)
	b.f.Close()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := b.f.Invoke(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestAContextThatEndsTakesTheInstanceWithIt(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := b.f.Invoke(ctx, []byte(`{"Do": "meet", "File": "/nowhere/ever"}`))
		failed <- err
	}()
	b.logs.until("met", 1)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.f.Close()
	if reports := b.f.Reports(); len(reports) != 1 || reports[0].ExitCode != -1 {
		t.Errorf("reports %+v", reports)
	}
}
