package drive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

const (
	acceptor = "acceptor-1"
	outpost  = outpoststest.DefaultOutpost
	devin    = "devin-1"
	account  = "cog_the-account-token"
)

var (
	t0        = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	errBroken = errors.New("broken pipe")
)

// world is one outpost with everything around a driver: the fleet service (simulated, over HTTP), leases in memory, a stateful stand-in for ECS, and a clock that
// moves when somebody sleeps. Every call to a port is written down in the trail. A fault hook fails or crashes a call before or after its effect.
type world struct {
	t       *testing.T
	now     time.Time
	skew    time.Duration // how far the fleet service's clock is ahead of ours; set before the first call
	server  *outpoststest.Server
	store   *lease.Memory
	ecs     *ecs
	config  config.Outpost
	seal    func(token string) (string, error)
	told    []events.StateChange
	tells   int
	logs    bytes.Buffer
	metrics bytes.Buffer
	ids     int
	before  func(call string) error // before the effect: the call does nothing and answers the error
	after   func(call string) error // after the effect: the answer is lost
	trail   []string
	tokens  []string             // connect tokens that were sealed
	sighted map[string]time.Time // what sweeps remember of orphans

	mu sync.Mutex // the fleet service reads the clock from its own goroutines
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: t0, store: &lease.Memory{}, sighted: map[string]time.Time{}}
	w.server = outpoststest.New(outpoststest.Options{Now: func() time.Time { return w.Now().Add(w.skew) }, Token: account})
	t.Cleanup(w.server.Close)
	w.ecs = &ecs{w: w}
	w.seal = func(token string) (string, error) {
		if len(token) > seal.MaxToken {
			return "", seal.ErrTooLong
		}
		return fmt.Sprintf("sealed-%x", sha256.Sum256([]byte(token)))[:15], nil
	}
	w.config = config.Outpost{ID: outpost, MaxSessions: 2, MaxFailures: 3, MaxAge: 24 * time.Hour, RefusePolicies: true, Capacity: []config.Capacity{
		{Name: "spot", Provider: "FARGATE_SPOT", TaskDefinition: "worker:7", Container: "worker"},
		{Name: "fargate", Provider: "FARGATE", TaskDefinition: "worker:7", Container: "worker"},
	}}
	return w
}

// Now and Sleep are the clock.
func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) Sleep(ctx context.Context, d time.Duration) error {
	return w.call("sleep", func() error {
		w.note("sleep %v", d)
		w.pass(d)
		return ctx.Err()
	})
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) note(format string, args ...any) {
	w.trail = append(w.trail, fmt.Sprintf(format, args...))
}

// crash is what a hook panics with to end a drive in the middle, as a Lambda that is killed.
type crash struct{}

// call lets a hook have a port call fail before or after its effect.
func (w *world) call(name string, effect func() error) error {
	if w.before != nil {
		if err := w.before(name); err != nil {
			return err
		}
	}
	if err := effect(); err != nil {
		return err
	}
	if w.after != nil {
		return w.after(name)
	}
	return nil
}

// failing answers an error for the first n calls of that name.
func failing(name string, n int, err error) func(string) error {
	return func(call string) error {
		if call == name && n > 0 {
			n--
			return err
		}
		return nil
	}
}

func (w *world) driver() *drive.Driver {
	return &drive.Driver{Leases: leases{w}, Tasks: w.ecs, Sealer: sealer{w}, Breakers: breakers{w}, Teller: teller{w}, Clock: w, Jitter: func() float64 { return 0.5 },
		NewID: func() string { w.ids++; return fmt.Sprint("id-", w.ids) }, Log: slog.New(slog.NewJSONHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics: &telemetry.Recorder{AcceptorID: acceptor, Now: w.Now, Out: &w.metrics}}
}

// outpost is what an invocation reads of the outpost.
func (w *world) outpost() drive.Outpost {
	ctx := context.Background()
	client := outposts.New(outposts.Options{BaseURL: w.server.URL(), Now: w.Now, Token: func(context.Context, outposts.Secret) (outposts.Secret, error) { return account, nil }})
	o := drive.Outpost{ID: outpost, Config: &w.config, Fleet: fleet{w, client}, Terms: w.config.Terms(acceptor)}
	counter, err := w.store.Counter(ctx, outpost)
	if err != nil {
		w.t.Fatal(err)
	}
	health, err := w.store.Health(ctx, outpost)
	if err != nil {
		w.t.Fatal(err)
	}
	o.Terms.Draining = o.Terms.Draining || counter.Draining
	o.Breakers = health.Breakers
	for i, c := range o.Terms.Capacity {
		if b, open := o.Breakers[c.Name]; open {
			o.Terms.Capacity[i].Breaker = session.Opened
			if !w.Now().Before(b.Until) {
				o.Terms.Capacity[i].Breaker = session.Probing
			}
		}
	}
	return o
}

// drive looks after the session as an offer would have it.
func (w *world) drive(changes ...func(*drive.Job)) drive.Result {
	job := drive.Job{SessionID: devin, Outpost: w.outpost()}
	for _, change := range changes {
		change(&job)
	}
	return w.driver().Drive(context.Background(), job)
}

func patience(d time.Duration) func(*drive.Job) { return func(j *drive.Job) { j.Patience = d } }

// enqueue puts the session into the queue.
func (w *world) enqueue() { w.server.Enqueue(outpoststest.EnqueueOptions{SessionID: devin}) }

// launched is a world in which the session's first task was just accepted.
func launched(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.enqueue()
	if res := w.drive(); res.Err != nil || res.Lease.State != session.Launching || res.Lease.TaskARN != "task-1" {
		t.Fatalf("not launched: %+v", res)
	}
	w.trail = nil
	return w
}

func (w *world) lease() *session.Lease {
	l, err := w.store.Get(context.Background(), devin)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) slots() int {
	c, err := w.store.Counter(context.Background(), outpost)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.SlotsUsed
}

// leases are the store, with a trail of the writes.
type leases struct{ w *world }

func (l leases) Get(ctx context.Context, id string) (got *session.Lease, err error) {
	err = l.w.call("read lease", func() error { got, err = l.w.store.Get(ctx, id); return err })
	if err != nil {
		got = nil
	}
	return got, err
}

func (l leases) write(name string, to session.Lease, effect func() error) error {
	old := l.w.lease()
	err := l.w.call(name, effect)
	line := fmt.Sprintf("%s rev %d: %s", name, to.Rev, changes(old, to))
	if err != nil {
		line += " → " + err.Error()
	}
	l.w.note("%s", line)
	return err
}

func (l leases) Reserve(ctx context.Context, to session.Lease, most int) error {
	return l.write("reserve", to, func() error { return l.w.store.Reserve(ctx, to, most) })
}

func (l leases) Save(ctx context.Context, to session.Lease) error {
	return l.write("save", to, func() error { return l.w.store.Save(ctx, to) })
}

func (l leases) End(ctx context.Context, to session.Lease) error {
	return l.write("end", to, func() error { return l.w.store.End(ctx, to) })
}

// changes tells what a write changes.
func changes(old *session.Lease, to session.Lease) string {
	if old == nil {
		old = &session.Lease{}
	}
	var list []string
	add := func(changed bool, format string, args ...any) {
		if changed {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	until := func(at time.Time) string {
		if at.IsZero() {
			return "none"
		}
		return at.Format(time.TimeOnly)
	}
	add(old.State != to.State, "%s", to.State)
	add(old.Outcome != to.Outcome && to.Outcome != "", "as %s", to.Outcome)
	add(old.Verdict != to.Verdict && to.Verdict != "", "verdict %s", to.Verdict)
	add(old.Epoch != to.Epoch, "epoch %s", to.Epoch)
	add(old.Attempt != to.Attempt, "attempt %d", to.Attempt)
	add(old.Failures != to.Failures, "failures %d", to.Failures)
	add(old.Capacity != to.Capacity && to.Capacity != "", "capacity %s", to.Capacity)
	add(old.TaskARN != to.TaskARN && to.TaskARN != "", "%s", to.TaskARN)
	add(!old.ClaimUntil.Equal(to.ClaimUntil), "claim until %s", until(to.ClaimUntil))
	add(!old.LaunchUntil.Equal(to.LaunchUntil), "launch until %s", until(to.LaunchUntil))
	add(!old.NotBefore.Equal(to.NotBefore) && !to.NotBefore.IsZero(), "not before %s", until(to.NotBefore))
	add(!old.ConnectedAt.Equal(to.ConnectedAt) && !to.ConnectedAt.IsZero(), "connected")
	add(old.Doubt != to.Doubt && to.Doubt.Kind != "", "doubt: %s, read %d", to.Doubt.Kind, to.Doubt.Reads)
	add(old.Doubt.Kind != "" && to.Doubt.Kind == "" && old.State == to.State, "no doubt")
	add(old.Reason != to.Reason && to.Reason != "", "because %s", to.Reason)
	return strings.Join(list, ", ")
}

// fleet is the client, with a trail.
type fleet struct {
	w      *world
	client *outposts.Client
}

func (f fleet) Get(ctx context.Context, id string) (e outposts.Entry, err error) {
	err = f.w.call("read entry", func() error { e, err = f.client.Get(ctx, id); return err })
	f.w.note("read entry → %s", answered(err, e.Phase+" "+e.Status))
	return e, err
}

func (f fleet) Claim(ctx context.Context, id, acceptorID string) (c outposts.Claim, err error) {
	err = f.w.call("claim", func() error { c, err = f.client.Claim(ctx, id, acceptorID); return err })
	f.w.note("claim → %s", answered(err, "granted"))
	return c, err
}

func (f fleet) Release(ctx context.Context, id, acceptorID string) error {
	err := f.w.call("release", func() error { return f.client.Release(ctx, id, acceptorID) })
	f.w.note("release → %s", answered(err, "released"))
	return err
}

func answered(err error, well string) string {
	switch {
	case err == nil:
		return well
	case errors.Is(err, outposts.ErrClaimLost):
		return "not ours"
	case errors.Is(err, outposts.ErrNotFound):
		return "not in the queue"
	case errors.Is(err, outposts.ErrMalformed):
		return "unreadable"
	case errors.Is(err, outposts.ErrUnauthorized):
		return "token refused"
	}
	return "no answer"
}

type sealer struct{ w *world }

func (s sealer) Seal(_ context.Context, _, _ string, token outposts.Secret) (out string, err error) {
	err = s.w.call("seal", func() error {
		s.w.tokens = append(s.w.tokens, token.Reveal())
		out, err = s.w.seal(token.Reveal())
		return err
	})
	return out, err
}

type breakers struct{ w *world }

func (b breakers) Trip(ctx context.Context, id, choice string, to lease.Breaker) error {
	b.w.note("open the breaker of %s until %s", choice, to.Until.Format(time.TimeOnly))
	return b.w.call("trip", func() error { return b.w.store.Trip(ctx, id, choice, to) })
}

func (b breakers) Probe(ctx context.Context, id, choice string, seen lease.Breaker, until time.Time) error {
	err := b.w.call("probe", func() error { return b.w.store.Probe(ctx, id, choice, seen, until) })
	told := "taken"
	if err != nil {
		told = "somebody else does"
	}
	b.w.note("probe %s → %s", choice, told)
	return err
}

func (b breakers) Heal(ctx context.Context, id, choice string) error {
	b.w.note("close the breaker of %s", choice)
	return b.w.call("heal", func() error { return b.w.store.Heal(ctx, id, choice) })
}

type teller struct{ w *world }

func (t teller) Tell(_ context.Context, steps []events.StateChange) {
	t.w.tells++
	t.w.told = append(t.w.told, slices.Clone(steps)...)
}
