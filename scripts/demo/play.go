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
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// play lets the sessions live their lives, watches them, and judges the end.
func play(ctx context.Context, o options, l *laptop.Laptop, show *show) error {
	loops, stopLoops := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Run(loops) })
	defer func() { stopLoops(); running.Wait() }()

	p := &players{l: l, show: show, waits: &waits{}, pace: o.Work}
	var ids []string
	for i := range o.Sessions {
		id := fmt.Sprintf("devin-%d", i+1)
		l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
		ids = append(ids, id)
	}
	show.note(fmt.Sprintf("%d sessions wait in the queue; %d may run at once", o.Sessions, o.Slots))
	watching, stopWatching := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { watch(watching, l, ids, show) })

	errs := make([]error, len(ids))
	var lives sync.WaitGroup
	for i, id := range ids {
		life := p.plain
		switch i {
		case 0:
			life = p.killed
		case 1:
			life = p.sleeps
		}
		lives.Go(func() { errs[i] = life(ctx, id) })
	}
	lives.Wait()
	errs = append(errs, settled(ctx, l, ids))
	stopWatching()
	watched.Wait()
	sum := summarise(ctx, l, ids, p.waits)
	show.summary(sum)
	if !sum.OK() {
		errs = append(errs, errors.New("something was left behind: see the summary"))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, l.Faults())
	}
	return nil
}

// players are the scripts that sessions follow, in the part of Devin's cloud.
type players struct {
	l     *laptop.Laptop
	show  *show
	waits *waits
	pace  time.Duration // how long a session works between two steps
}

// plain works for a moment and is over.
func (p *players) plain(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "hello from the workspace"); err != nil {
		return err
	}
	return p.l.Fleet.Terminate(id)
}

// killed loses its worker, goes on with another, and is over.
func (p *players) killed(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "before the worker is killed"); err != nil {
		return err
	}
	for _, t := range p.l.ECS.Tasks() {
		if t.Env["OUTPOST_SESSION_ID"] == id && t.Status == "RUNNING" {
			p.show.event(id, "its worker is killed on purpose")
			if err := p.l.ECS.Kill(t.ARN, ecstest.Death{Abrupt: true}); err != nil {
				return err
			}
		}
	}
	_, err := p.l.Fleet.Wait(ctx, id, func(s outpoststest.Session) bool { return s.Connections >= 2 && s.Connected })
	if err != nil {
		return fmt.Errorf("session %s was not given another worker: %w", id, err)
	}
	if err := p.work(ctx, id, "after the worker was replaced"); err != nil {
		return err
	}
	return p.l.Fleet.Terminate(id)
}

// sleeps is suspended, resumed, and then over.
func (p *players) sleeps(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "before it sleeps"); err != nil {
		return err
	}
	p.show.event(id, "it goes to sleep")
	if err := p.l.Fleet.Suspend(id); err != nil {
		return err
	}
	if err := ended(ctx, p.l, id); err != nil {
		return err
	}
	p.show.event(id, "it is woken up and waits again")
	if err := p.l.Fleet.Resume(id); err != nil {
		return err
	}
	if err := p.work(ctx, id, "after it was resumed"); err != nil {
		return err
	}
	return p.l.Fleet.Terminate(id)
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
	select {
	case <-ctx.Done():
		return fmt.Errorf("session %s: %w", id, ctx.Err())
	case <-time.After(p.pace):
		return nil
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
