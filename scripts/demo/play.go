package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// play lets the sessions live their lives, watches them, and judges the end.
func play(ctx context.Context, o options, l *laptop.Laptop, show *show) error {
	loops, stopLoops := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Run(loops) })
	defer func() { stopLoops(); running.Wait() }()

	p := &players{l: l, show: show, waits: &waits{}, pace: o.Work, cast: map[string]life{}}
	cast := scenarios[o.Scenario].cast(o.Sessions)
	ids := make([]string, len(cast))
	for i, life := range cast {
		ids[i] = fmt.Sprintf("devin-%d", i+1)
		p.cast[ids[i]] = life
		if life.before != nil {
			life.before(l, ids[i])
		}
		l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: ids[i]})
	}
	show.note(fmt.Sprintf("%d sessions wait in the queue; %d may run at once", len(ids), o.Slots))
	watching, stopWatching := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { watch(watching, l, ids, show) })

	errs := make([]error, len(ids))
	var lives sync.WaitGroup
	for i, life := range cast {
		lives.Go(func() { errs[i] = life.play(p, ctx, ids[i]) })
	}
	lives.Wait()
	errs = append(errs, settled(ctx, l, ids))
	stopWatching()
	watched.Wait()
	sum := summarise(ctx, l, ids, cast, p.waits)
	show.summary(sum)
	if !sum.OK() {
		errs = append(errs, errors.New("a session did not end as it should, or something was left behind: see the summary"))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, l.Faults())
	}
	return nil
}

// work waits for a worker and runs one command in the session's workspace.
func (p *players) work(ctx context.Context, id, word string) error {
	if err := p.l.Fleet.WaitConnected(ctx, id); err != nil {
		return fmt.Errorf("session %s got no worker: %w", id, err)
	}
	p.waits.note(p.l.Fleet.Session(id))
	out, exit, err := p.l.Fleet.Exec(ctx, id, fmt.Sprintf(`echo "%s, on $(uname -sm)" >> notes.txt && tail -n 1 notes.txt`, word))
	if err != nil || exit != 0 {
		return fmt.Errorf("session %s: the command in its workspace failed: exit %d, %w", id, exit, err)
	}
	p.show.event(id, "$ tail notes.txt → "+strings.TrimSpace(out))
	p.rest(ctx, p.pace)
	return nil
}

// rest waits, or until the demo is given up.
func (p *players) rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// ended waits until the session's lease has ended.
func ended(ctx context.Context, l *laptop.Laptop, id string) error {
	for {
		have, err := l.Store.Get(ctx, id)
		if err == nil && have != nil && have.State == session.Ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s did not end: %w", id, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settled waits until all leases have ended.
func settled(ctx context.Context, l *laptop.Laptop, ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, ended(ctx, l, id))
	}
	return errors.Join(errs...)
}

// waits are how long sessions waited, for their claim and for their worker.
type waits struct {
	mu                 sync.Mutex
	claimed, connected []time.Duration
	seen               map[time.Time]bool
}

// note takes the times of a session that is connected, once for each time it was queued.
func (w *waits) note(s outpoststest.Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[time.Time]bool{}
	}
	if w.seen[s.EnqueuedAt] {
		return
	}
	w.seen[s.EnqueuedAt] = true
	w.claimed = append(w.claimed, s.ClaimedAt.Sub(s.EnqueuedAt))
	w.connected = append(w.connected, s.ConnectedAt.Sub(s.EnqueuedAt))
}
