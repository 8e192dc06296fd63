package functions

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// shortestQuiet is for how long the fleet API is left alone at least when it asks for it; package outposts bounds it above, at a quarter of an hour.
const shortestQuiet = time.Second

// quiet is until when the fleet API wants an outpost to leave it alone (429 with Retry-After). All calls of an invocation for the outpost share it; through the
// outpost's health other functions and later invocations know it, too.
type quiet struct {
	run *Run
	id  string

	mu    sync.Mutex // never held during a call
	until time.Time
}

// rest is how much of it is left; 0 = none.
func (q *quiet) rest() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.until.Sub(q.run.Clock.Now()))
}

// extend takes notice of a time, and says whether it is news.
func (q *quiet) extend(until time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !until.After(q.until) {
		return false
	}
	q.until = until
	return true
}

// ask makes a call, unless the API wants to be left alone: then nothing is sent, and the error is the one that the API would answer with.
func (q *quiet) ask(ctx context.Context, op string, call func() error) error {
	if rest := q.rest(); rest > 0 {
		return &outposts.RateLimitedError{Op: op, RetryAfter: rest}
	}
	err := call()
	var limited *outposts.RateLimitedError
	if !errors.As(err, &limited) || limited.RetryAfter <= 0 {
		return err
	}
	until := q.run.Clock.Now().Add(max(limited.RetryAfter, shortestQuiet))
	if !q.extend(until) {
		return err
	}
	q.run.Log.Warn("fleet API wants to be left alone", "outpost_id", q.id, "until", until, "error", err.Error())
	if err := q.run.Store.Quiet(ctx, q.id, until); err != nil { // the next that asks is told the same
		q.run.Log.Warn("not noted that the fleet API wants to be left alone", "outpost_id", q.id, "error", err.Error())
	}
	return err
}

// politeFleet leaves the fleet API alone when it wants to be.
type politeFleet struct {
	fleet Fleet
	quiet *quiet
}

// Get implements [Fleet].
func (p politeFleet) Get(ctx context.Context, sessionID string) (e outposts.Entry, err error) {
	err = p.quiet.ask(ctx, "get session "+sessionID, func() error { e, err = p.fleet.Get(ctx, sessionID); return err })
	return e, err
}

// Claim implements [Fleet].
func (p politeFleet) Claim(ctx context.Context, sessionID, acceptorID string) (c outposts.Claim, err error) {
	err = p.quiet.ask(ctx, "claim session "+sessionID, func() error { c, err = p.fleet.Claim(ctx, sessionID, acceptorID); return err })
	return c, err
}

// Release implements [Fleet].
func (p politeFleet) Release(ctx context.Context, sessionID, acceptorID string) error {
	return p.quiet.ask(ctx, "release session "+sessionID, func() error { return p.fleet.Release(ctx, sessionID, acceptorID) })
}

// List implements [Fleet].
func (p politeFleet) List(ctx context.Context, q outposts.ListQuery) (l outposts.Listing, err error) {
	err = p.quiet.ask(ctx, "list the sessions of outpost "+q.Outpost, func() error { l, err = p.fleet.List(ctx, q); return err })
	return l, err
}

// politeWatcher does the same for streams.
type politeWatcher struct {
	watcher Watcher
	quiet   *quiet
}

// Watch implements [Watcher].
func (p politeWatcher) Watch(ctx context.Context, outpostID, cursor string, handle func(outposts.Event) error) (next string, err error) {
	next = cursor
	err = p.quiet.ask(ctx, "watch outpost "+outpostID, func() error { next, err = p.watcher.Watch(ctx, outpostID, cursor, handle); return err })
	return next, err
}
