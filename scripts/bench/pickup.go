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

// How pickup is measured: what the schedule adds in an account is left out by a short beat, and a trickle is slow enough for each session to be alone.
const (
	pickupBeat    = 100 * time.Millisecond
	trickleEvery  = 150 * time.Millisecond
	pickupTimeout = 2 * time.Minute
)

// pickup measures how long a session waits for its claim, and its claim for its task, on loopback.
func pickup(ctx context.Context, o options) ([]table, error) {
	t := table{Bench: "pickup", Title: fmt.Sprintf("%d sessions, poll dispatch, a listing every %s, stub tasks", o.Sessions, pickupBeat),
		Notes: []string{"In an account the beat of the listings comes on top: up to a minute in poll dispatch.",
			"All at once, most of the wait is for one's turn: one invocation of claim at a time, with five offers each."}}
	for _, way := range []struct {
		name  string
		every time.Duration
	}{{"one by one", trickleEvery}, {"all at once", 0}} {
		claimed, launched, err := pickUp(ctx, o.Sessions, way.every)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		t.Rows = append(t.Rows, row{way.name + ", queued to claimed", quantiles(claimed)}, row{way.name + ", claimed to task", quantiles(launched)})
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

func pickUp(ctx context.Context, n int, every time.Duration) (claimed, launched []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, pickupTimeout+time.Duration(n)*every)
	defer cancel()
	s := &starts{at: map[string]time.Time{}, all: make(chan struct{}), n: n}
	l, err := laptop.New(ctx, laptop.Options{Now: time.Now, MaxSessions: n, Stub: s.work, Starting: time.Microsecond, PollEvery: pickupBeat, SweepEvery: time.Minute,
		Configure: func(outpost map[string]any) { outpost["dispatch"] = "poll" }})
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
		if every > 0 {
			time.Sleep(every)
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
