package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// life is the script of one session, in the part of Devin's cloud and of misfortune, and how its lease must end.
type life struct {
	before func(l *laptop.Laptop, id string) // the session is enqueued; nil = nothing
	play   func(p *players, ctx context.Context, id string) error
	want   session.Outcome
}

// The lives.
var (
	plain    = life{nil, (*players).plain, session.Completed}
	died     = life{nil, (*players).died, session.Completed}
	sleeps   = life{nil, (*players).sleeps, session.Completed}
	stolen   = life{nil, (*players).stolen, session.Lost}
	vanished = life{nil, (*players).vanished, session.Lost}
	poison   = life{nil, (*players).poison, session.GaveUp}
	drained  = life{nil, (*players).drained, session.Drained}
	refused  = life{bare, (*players).left, session.Refused}
	capacity = life{noSpot, (*players).plain, session.Completed}
)

// scenario is a cast of sessions.
type scenario struct {
	help string
	cast func(sessions int) []life
}

// scenarios by name.
var scenarios = map[string]scenario{
	"usual": {"one worker is killed and replaced, one session sleeps and is resumed, the others work and are over", func(n int) []life {
		cast := []life{died, sleeps}
		for len(cast) < n {
			cast = append(cast, plain)
		}
		return cast[:n]
	}},
	"everything": {"one of each kind of end (25 s)", func(int) []life { return []life{died, sleeps, stolen, poison, refused, plain, drained} }},
	"died":       {"each worker is killed and replaced", all(died)},
	"suspended":  {"each session sleeps and is resumed", all(sleeps)},
	"stolen":     {"somebody else takes the claim of a running session", all(stolen)},
	"vanished":   {"a running session leaves the queue (35 s)", all(vanished)},
	"poison":     {"every worker of a session dies, until it is given back (20 s)", all(poison)},
	"refused":    {"a claim comes without a token and is given back", all(refused)},
	"drained":    {"the outpost is drained while sessions run", all(drained)},
	"capacity":   {"Fargate Spot has no capacity, so that Fargate takes the sessions", all(capacity)},
}

func all(l life) func(int) []life {
	return func(n int) []life { return slices.Repeat([]life{l}, n) }
}

// names are the scenarios', for messages.
func names() []string { return slices.Sorted(maps.Keys(scenarios)) }

func bare(l *laptop.Laptop, id string) {
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultBare, SessionID: id, Times: 1})
}

func noSpot(l *laptop.Laptop, _ string) {
	l.ECS.Refuse(laptop.Spot, "Capacity is unavailable at this time. Please try again later or in a different availability zone")
}

// players are the scripts that sessions follow, in the part of Devin's cloud.
type players struct {
	l     *laptop.Laptop
	show  *show
	waits *waits
	pace  time.Duration // how long a session works between two steps
	cast  map[string]life
}

// plain works for a moment and is over.
func (p *players) plain(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "hello from the workspace"); err != nil {
		return err
	}
	return p.l.Fleet.Terminate(id)
}

// died loses its worker, goes on with another, and is over.
func (p *players) died(ctx context.Context, id string) error {
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

// stolen loses its claim while it works.
func (p *players) stolen(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "before the claim is stolen"); err != nil {
		return err
	}
	p.show.event(id, "somebody else takes its claim")
	return errors.Join(p.l.Fleet.Steal(id, "somebody-else"), p.left(ctx, id))
}

// vanished leaves the queue while it works.
func (p *players) vanished(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "before it vanishes"); err != nil {
		return err
	}
	p.show.event(id, "it leaves the queue")
	return errors.Join(p.l.Fleet.Vanish(id), p.left(ctx, id))
}

// poison loses every worker that it is given.
func (p *players) poison(ctx context.Context, id string) error {
	seen := ""
	for ctx.Err() == nil && p.l.Lease(ctx, id).State != session.Ended {
		if t, ok := p.l.Task(id); ok && t.ARN != seen && t.Status == "RUNNING" {
			seen = t.ARN
			p.show.event(id, "its worker dies")
			if err := p.l.ECS.Kill(t.ARN, ecstest.OutOfMemory); err != nil {
				return err
			}
		}
		p.rest(ctx, 50*time.Millisecond)
	}
	return p.left(ctx, id)
}

// drained works in an outpost that is then drained, and loses its worker: it is given back rather than given another.
func (p *players) drained(ctx context.Context, id string) error {
	if err := p.work(ctx, id, "before the outpost is drained"); err != nil {
		return err
	}
	for _, s := range p.l.Fleet.Sessions() { // the others first
		if s.ID != id && p.cast[s.ID].want != session.Drained {
			if err := ended(ctx, p.l, s.ID); err != nil {
				return err
			}
		}
	}
	p.show.event(id, "the outpost is drained, and its worker is killed")
	if err := p.l.Store.SetDraining(ctx, laptop.Outpost, true); err != nil {
		return err
	}
	t, _ := p.l.Task(id)
	return errors.Join(p.l.ECS.Kill(t.ARN, ecstest.Crash), p.left(ctx, id))
}

// left waits until we have let the session go.
func (p *players) left(ctx context.Context, id string) error {
	if err := ended(ctx, p.l, id); err != nil {
		return err
	}
	l := p.l.Lease(ctx, id)
	p.show.event(id, fmt.Sprintf("let go as %s: %s", l.Outcome, l.Reason))
	return nil
}
