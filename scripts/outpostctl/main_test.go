package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// The test binary is outpostctl as well, so that each command runs as a person runs it: as a process, found by its environment.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_AS_OUTPOSTCTL") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bundle is a deployment on loopback whose workers do what the test says.
type bundle struct {
	t *testing.T
	*laptop.Laptop
	ctx  context.Context
	mu   sync.Mutex
	over map[string]chan struct{} // by session: its remote has ended
}

func start(t *testing.T, change func(*laptop.Options)) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	b := &bundle{t: t, ctx: ctx, over: map[string]chan struct{}{}}
	o := laptop.Options{Now: time.Now, Stub: b.worker, Starting: 2 * time.Millisecond, PollEvery: 100 * time.Millisecond, SweepEvery: 100 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	l, err := laptop.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	b.Laptop = l
	t.Cleanup(l.Close)
	return b
}

// worker serves until its session is over, or it is told to stop.
func (b *bundle) worker(ctx context.Context, env map[string]string) int {
	select {
	case <-ctx.Done():
		return 30
	case <-b.gate(env["OUTPOST_SESSION_ID"]):
		return 0
	}
}

func (b *bundle) gate(id string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over[id] == nil {
		b.over[id] = make(chan struct{})
	}
	return b.over[id]
}

// terminate ends a session: Devin says so, and its remote exits 0.
func (b *bundle) terminate(id string) {
	b.t.Helper()
	if err := b.Fleet.Terminate(id); err != nil {
		b.t.Fatal(err)
	}
	close(b.gate(id))
}

// loops runs the functions until the test is over.
func (b *bundle) loops() {
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() { defer close(done); b.Run(ctx) }()
	b.t.Cleanup(func() { stop(); <-done })
}

func (b *bundle) enqueue(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("devin-%d", i+1))
		b.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: ids[i]})
	}
	return ids
}

// await waits until a session's lease is in a state.
func (b *bundle) await(id string, state session.State) session.Lease {
	b.t.Helper()
	for {
		l, err := b.Store.Get(b.ctx, id)
		if err != nil {
			b.t.Fatalf("session %s did not come to %s: %v", id, state, err)
		}
		if l != nil && l.State == state {
			return *l
		}
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("session %s did not come to %s: it is %+v", id, state, l)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// settle waits for a listing that found nothing to take.
func (b *bundle) settle() {
	b.t.Helper()
	for {
		h, err := b.Store.Health(b.ctx, laptop.Outpost)
		if err != nil {
			b.t.Fatal(err)
		}
		if !h.LastPoll.IsZero() && h.Waiting.IsZero() {
			return
		}
		time.Sleep(10 * time.Millisecond) // between two looks at the table
	}
}

// result is what a command did.
type result struct {
	out, errs string
	code      int
}

// command prepares outpostctl with the deployment's environment, and with no trace of this machine's AWS settings.
func (b *bundle) command(extra []string, args ...string) *exec.Cmd {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	c := exec.CommandContext(b.ctx, self, args...)
	c.Dir = b.t.TempDir()
	c.Env = append(append([]string{"RUN_AS_OUTPOSTCTL=1", "HOME=" + c.Dir, "AWS_EC2_METADATA_DISABLED=true"}, b.Env...), extra...)
	return c
}

func (b *bundle) ctl(args ...string) result {
	b.t.Helper()
	return b.outcome(b.command(nil, args...))
}

func (b *bundle) outcome(c *exec.Cmd) result {
	b.t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if c.ProcessState == nil {
		b.t.Fatal(err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// json runs a command that must succeed and reads what it printed.
func (b *bundle) json(into any, args ...string) {
	b.t.Helper()
	r := b.ctl(append([]string{"--json"}, args...)...)
	if r.code != 0 {
		b.t.Fatalf("outpostctl %v: exit %d: %s", args, r.code, r.errs)
	}
	if err := json.Unmarshal([]byte(r.out), into); err != nil {
		b.t.Fatalf("outpostctl %v printed %s: %v", args, r.out, err)
	}
}

func (r result) fails(t *testing.T, sentence string) {
	t.Helper()
	if r.code != 1 || !strings.Contains(r.errs, sentence) {
		t.Errorf("exit %d and %q, want exit 1 and a sentence with %q", r.code, r.errs, sentence)
	}
}

func (r result) succeeds(t *testing.T) {
	t.Helper()
	if r.code != 0 || r.errs != "" {
		t.Errorf("exit %d: %s\n%s", r.code, r.errs, r.out)
	}
}

var varying = regexp.MustCompile(`\d+m?\d*s\b|[0-9a-f]{32}|revision \d+|\d\d:\d\d:\d\d`)

// steady replaces ages, times, task ids and revisions, and evens out the columns that depend on them.
func steady(s string) string {
	return regexp.MustCompile(` +`).ReplaceAllString(varying.ReplaceAllString(s, "#"), " ")
}

// refuseStops lets ECS refuse every StopTask.
func (b *bundle) refuseStops() {
	b.ECS.Inject(ecstest.Fault{Op: "StopTask", Times: -1, Code: "AccessDeniedException", Message: "not allowed"})
}
