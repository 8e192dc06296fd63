package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

// How pickup is measured: one by one, a session comes when the one before is long launched.
const (
	trickleEvery  = 100 * time.Millisecond
	pickupTimeout = 2 * time.Minute
)

// way is one way in which sessions come and are found.
type way struct {
	name  string
	watch bool
	beat  time.Duration // of poll
	every time.Duration // between sessions
}

var ways = []way{
	{"watch, one by one", true, time.Minute, trickleEvery},
	{"poll, one by one", false, 100 * time.Millisecond, trickleEvery},
	{"poll, all at once", false, time.Second, 0},
}

// pickup measures how long a session waits for its claim, and its claim for its task, on loopback.
func pickup(ctx context.Context, o options) ([]table, error) {
	t := table{Bench: "pickup", Title: fmt.Sprintf("%d sessions each way, stub tasks, everything on loopback", o.Sessions), Notes: []string{
		"Poll lists every 100 ms here for sessions that come one by one, every second for those that come all at once, and each minute in an account.",
		"All at once, most of the wait is for one's turn: one invocation of claim at a time, with five offers each."}}
	for _, w := range ways {
		claimed, launched, err := pickUp(ctx, o.Sessions, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		t.Rows = append(t.Rows, row{w.name + ": queued to claimed", quantiles(claimed)}, row{w.name + ": claimed to task", quantiles(launched)})
	}
	return []table{t}, nil
}

// starts are when each session's task started.
type starts struct {
	mu  sync.Mutex
	at  map[string]time.Time
	all chan struct{} // closed when all have
	n   int
}

// work is a task that starts and then waits for its end.
func (s *starts) work(ctx context.Context, env map[string]string) int {
	s.mu.Lock()
	if id := env["OUTPOST_SESSION_ID"]; s.at[id].IsZero() {
		if s.at[id] = time.Now(); len(s.at) == s.n {
			close(s.all)
		}
	}
	s.mu.Unlock()
	<-ctx.Done()
	return 30
}

func pickUp(ctx context.Context, n int, w way) (claimed, launched []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pickupTimeout+time.Duration(n)*w.every)
	defer cancel()
	s := &starts{at: map[string]time.Time{}, all: make(chan struct{}), n: n}
	l, err := laptop.New(ctx, laptop.Options{Now: time.Now, MaxSessions: n, Stub: s.work, Starting: time.Microsecond, Watch: w.watch, PollEvery: w.beat, SweepEvery: time.Minute})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	loops, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Run(loops) })
	defer func() { stop(); running.Wait() }()
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("devin-%d", i+1))
		l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: ids[i]})
		if w.every > 0 {
			time.Sleep(w.every) // the beat at which sessions come, a setting of the measurement
		}
	}
	select {
	case <-s.all:
	case <-ctx.Done():
		return nil, nil, cmp.Or(l.Faults(), fmt.Errorf("not every session got its task: %w", ctx.Err()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		f := l.Fleet.Session(id)
		claimed, launched = append(claimed, f.ClaimedAt.Sub(f.EnqueuedAt)), append(launched, s.at[id].Sub(f.ClaimedAt))
	}
	return claimed, launched, nil
}

// quantiles are the middle, the ninth of ten, the 99th of a hundred, and the worst.
func quantiles(d []time.Duration) []figure {
	slices.Sort(d)
	at := func(q float64) time.Duration { return d[min(len(d)-1, int(q*float64(len(d))))] }
	return []figure{milliseconds("median", at(0.5)), milliseconds("p90", at(0.9)), milliseconds("p99", at(0.99)), milliseconds("worst", d[len(d)-1])}
}
