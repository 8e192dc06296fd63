//go:build mutants

package simulate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

var teethSeeds = flag.Int("teeth", 2000, "within how many seeds each deliberate fault must be found")

// mutant is a deliberate fault in the product.
type mutant struct {
	name string
	next func(session.View) session.Action
	wrap func(*world, functions.Kit) functions.Kit
	edit func(*plan) // the weather in which it is looked for; nil = every kind
}

// changed answers what Next says of a View in which the lease is another.
func changed(v session.View, change func(*session.Lease)) session.Action {
	if v.Lease != nil {
		l := *v.Lease
		change(&l)
		v.Lease = &l
	}
	return session.Next(v)
}

// in says whether the lease is in one of the states.
func in(v session.View, states ...session.State) bool {
	for _, s := range states {
		if v.Lease != nil && v.Lease.State == s {
			return true
		}
	}
	return false
}

// retold answers what Next says of a View in which the tasks are others.
func retold(v session.View, change func(*session.Task)) session.Action {
	list := append([]session.Task{}, v.Tasks.List...)
	for i := range list {
		change(&list[i])
	}
	v.Tasks.List = list
	return session.Next(v)
}

// hasty has one read of a doubt suffice.
func hasty(kind session.DoubtKind) func(session.View) session.Action {
	return func(v session.View) session.Action {
		a := session.Next(v)
		if s, ok := a.(session.Save); ok && s.To.Doubt.Kind == kind && s.To.Doubt.Reads == 1 {
			return changed(v, func(l *session.Lease) {
				l.Doubt = session.Doubt{Kind: kind, Reads: 5, At: s.To.Doubt.At.Add(-2 * time.Minute)}
			})
		}
		return a
	}
}

// anyLive says whether a task of the session lives.
func anyLive(v session.View) bool {
	for _, t := range v.Tasks.List {
		if t.Live() {
			return true
		}
	}
	return false
}

// lateLaunches is weather in which launches take effect late, and workers die.
func lateLaunches(p *plan) {
	fair()(p)
	p.callFaults, p.mix, p.workerDies = 0.15, []Fault{LandsLate}, 0.3
	for i := range p.config {
		p.config[i].MaxFailures = 1
	}
}

// sighting has every sighting of a kind count as an old one.
func sighting(prefix string) func(*world, functions.Kit) functions.Kit {
	return stored(mutantStore{health: func(h lease.Health) lease.Health {
		for k, at := range h.Memo.Orphans {
			if strings.HasPrefix(k, prefix) {
				h.Memo.Orphans[k] = at.Add(-time.Hour)
			}
		}
		return h
	}})
}

// mutants are the deliberate faults: in the core, in the driver and its ports, and in the functions.
var mutants = []mutant{
	{name: "renew late", next: func(v session.View) session.Action {
		return changed(v, func(l *session.Lease) { l.ClaimedAt = l.ClaimUntil })
	}},
	{name: "never renew while a task is on its way", next: func(v session.View) session.Action {
		a := session.Next(v)
		if _, ok := a.(session.Claim); ok && in(v, session.Launching) {
			return session.Wait{Until: v.Now.Add(session.LookAgain)}
		}
		return a
	}},
	{name: "count the slot of a stopping task as free", next: func(v session.View) session.Action {
		if in(v, session.Stopping) && v.Try.Kind == session.StopSent {
			v.Tasks.List, v.Try = nil, session.Try{}
			return changed(v, func(l *session.Lease) { l.LaunchUntil = time.Time{} })
		}
		return session.Next(v)
	}},
	{name: "trust one suspended read", next: hasty(session.SeemsSuspended)},
	{name: "trust one 404", next: hasty(session.SeemsVanished)},
	{name: "raise the attempt before a late launch can have landed", next: func(v session.View) session.Action {
		if in(v, session.Stopping) {
			return changed(v, func(l *session.Lease) { l.LaunchUntil = time.Time{} })
		}
		return session.Next(v)
	}},
	{name: "match tasks by session", next: func(v session.View) session.Action {
		if !in(v, session.Launching, session.Running, session.Stopping) {
			return session.Next(v)
		}
		return retold(v, func(t *session.Task) { t.AttemptID = v.Lease.AttemptID() })
	}},
	{name: "release before STOPPED", next: func(v session.View) session.Action {
		if in(v, session.Stopping) && v.Try.Kind == session.StopSent {
			return session.Release{}
		}
		return session.Next(v)
	}},
	{name: "relaunch before STOPPED", next: func(v session.View) session.Action {
		if !in(v, session.Stopping) {
			return session.Next(v)
		}
		return retold(v, func(t *session.Task) {
			if t.Desired == "STOPPED" && t.Exit == nil {
				t.Status, t.Exit = "STOPPED", &session.Exit{Verdict: session.Failed}
			}
		})
	}},
	{name: "launch after the time for it", next: func(v session.View) session.Action {
		if in(v, session.Launching) && !v.Lease.LaunchUntil.IsZero() {
			v.Limit = session.Own
			return changed(v, func(l *session.Lease) { l.LaunchUntil = l.LaunchUntil.Add(10 * time.Minute) })
		}
		return session.Next(v)
	}},
	{name: "launch under another drive's limit, and take a refusal for the end of the attempt", next: func(v session.View) session.Action {
		v.Limit = session.Clear
		return session.Next(v)
	}, edit: crowded},
	{name: "launch though the claim was lost", next: func(v session.View) session.Action {
		if in(v, session.Reserved) && (v.Try.Kind == session.ClaimLost || v.Entry.Phase == session.PhaseClaimed && v.Entry.AcceptorID != acceptor) {
			v.Try = session.Try{Kind: session.Granted, Grant: session.Grant{Status: session.StatusPending, Began: v.Now, Life: time.Hour, Ciphertext: "sealed-0-0", GatewayURL: "wss://gateway"}}
		}
		return session.Next(v)
	}},
	{name: "give up at the first failure", next: func(v session.View) session.Action {
		if in(v, session.Stopping) && v.Lease.Verdict == session.Failed {
			v.Terms.MaxFailures = 1
		}
		return session.Next(v)
	}},
	{name: "count a lost Spot machine as a failure", next: func(v session.View) session.Action {
		return retold(v, func(t *session.Task) {
			if t.Exit != nil && t.Exit.Verdict == session.Interrupted {
				x := *t.Exit
				x.Verdict, t.Exit = session.Failed, &x
			}
		})
	}},
	{name: "forget the maximum age", next: func(v session.View) session.Action {
		if in(v, session.Launching, session.Running) {
			return changed(v, func(l *session.Lease) { l.Deadline = l.Deadline.Add(24 * time.Hour) })
		}
		return session.Next(v)
	}},
	{name: "end without a release", next: func(v session.View) session.Action {
		if _, ok := session.Next(v).(session.Release); ok && in(v, session.Stopping) {
			v.Try = session.Try{Kind: session.Released}
		}
		return session.Next(v)
	}},
	{name: "call a sleeping session over", next: func(v session.View) session.Action {
		if in(v, session.Stopping) && v.Entry.Status == session.StatusSuspended {
			v.Entry.Status = session.StatusTerminated
		}
		return session.Next(v)
	}},
	{name: "ban for ever what was given up", next: func(v session.View) session.Action {
		a := session.Next(v)
		if e, ok := a.(session.End); ok && e.To.Outcome == session.GaveUp {
			e.To.NotBefore = v.Now.Add(100 * time.Hour)
			return e
		}
		return a
	}},
	{name: "never stop what the lease has given up", next: func(v session.View) session.Action {
		a := session.Next(v)
		if _, ok := a.(session.StopTask); ok && in(v, session.Stopping) {
			return session.Wait{Until: v.Now.Add(session.LookAgain)}
		}
		return a
	}},
	{name: "skip the fence", wrap: stored(mutantStore{save: func(s mutantStore, ctx context.Context, to session.Lease) error {
		if now, ok := s.w.store.leases[to.SessionID]; ok {
			to.Rev, to.Epoch = now.Rev+1, now.Epoch
		}
		return s.Store.Save(ctx, to)
	}})},
	{name: "end without giving the slot back", wrap: stored(mutantStore{end: func(s mutantStore, ctx context.Context, to session.Lease) error {
		err := s.Store.End(ctx, to)
		if used := s.w.store.counter(to.OutpostID).SlotsUsed; err == nil {
			_ = s.w.store.memory.CorrectSlots(ctx, to.OutpostID, used, used+1)
		}
		return err
	}})},
	{name: "reserve beyond the maximum", wrap: stored(mutantStore{reserve: func(s mutantStore, ctx context.Context, to session.Lease, max int) error {
		return s.Store.Reserve(ctx, to, max+1)
	}})},
	{name: "correct a counter that one sweep saw", wrap: sighting("slots:")},
	{name: "reap a task that one sweep saw", next: func(v session.View) session.Action {
		return retold(v, func(t *session.Task) {
			if !v.Lease.Active() || t.AttemptID != v.Lease.AttemptID() {
				t.Orphan = v.Now.Add(-time.Hour)
			}
		})
	}},
	{name: "trust one 409 of a renewal", next: hasty(session.RenewalLost)},
	{name: "trust one read of another holder", next: hasty(session.SeemsStolen)},
	{name: "trust one read of terminated", next: hasty(session.SeemsOver)},
	{name: "trust one MISSING", next: hasty(session.SeemsGone)},
	{name: "keep a doubt that a good read has settled", next: func(v session.View) session.Action {
		a := session.Next(v)
		if s, ok := a.(session.Save); ok && s.To.Doubt.Kind == session.NoDoubt && v.Lease != nil && v.Lease.Doubt.Kind != session.NoDoubt && s.To.State == v.Lease.State {
			s.To.Doubt = v.Lease.Doubt
			s.To.Doubt.At = v.Now
			return s
		}
		return a
	}},
	{name: "keep the day on which an ended lease is deleted", next: func(v session.View) session.Action {
		a := session.Next(v)
		if r, ok := a.(session.Reserve); ok && v.Lease != nil {
			r.To.ExpiresAt = v.Lease.ExpiresAt
			return r
		}
		return a
	}},
	{name: "forget every failure", next: func(v session.View) session.Action {
		if in(v, session.Launching, session.Stopping) {
			return changed(v, func(l *session.Lease) { l.Failures = 0 })
		}
		return session.Next(v)
	}},
	{name: "remember failures for ever", next: func(v session.View) session.Action {
		a := session.Next(v)
		if s, ok := a.(session.Save); ok && s.To.State == session.Stopping && s.To.Verdict == session.Failed && s.To.Failures <= v.Lease.Failures {
			s.To.Failures = v.Lease.Failures + 1
			return s
		}
		return a
	}},
	{name: "count each capacity choice that refuses as a failure", next: func(v session.View) session.Action {
		a := session.Next(v)
		if s, ok := a.(session.Save); ok && v.Try.Kind == session.Declined && s.To.State == session.Launching && s.To.Capacity != v.Lease.Capacity && s.To.NotBefore.IsZero() {
			s.To.Failures++
			return s
		}
		return a
	}},
	{name: "pause for an hour before each relaunch", next: func(v session.View) session.Action {
		a := session.Next(v)
		if s, ok := a.(session.Save); ok && s.To.State == session.Stopping && s.To.NotBefore.After(v.Lease.NotBefore) {
			s.To.NotBefore = v.Now.Add(time.Hour)
			return s
		}
		return a
	}},
	{name: "wait for ever for a task to start", next: func(v session.View) session.Action {
		if in(v, session.Launching) && v.Lease.TaskARN != "" {
			return changed(v, func(l *session.Lease) { l.LaunchUntil = v.Now })
		}
		return session.Next(v)
	}},
	{name: "call a session that is over asleep", next: func(v session.View) session.Action {
		if in(v, session.Stopping) && v.Entry.Status == session.StatusTerminated {
			v.Entry.Status = session.StatusSuspended
		}
		return session.Next(v)
	}},
	{name: "ban for half an hour whatever ended", next: func(v session.View) session.Action {
		a := session.Next(v)
		if e, ok := a.(session.End); ok {
			e.To.NotBefore = v.Now.Add(30 * time.Minute)
			return e
		}
		return a
	}},
	{name: "let no claim be renewed while a task stops", next: func(v session.View) session.Action {
		a := session.Next(v)
		if _, ok := a.(session.Claim); ok && in(v, session.Stopping) && v.Tasks.Reading == session.Present && anyLive(v) {
			return session.Wait{Until: v.Now.Add(session.LookAgain)}
		}
		return a
	}},
	{name: "double the maximum age", next: func(v session.View) session.Action {
		v.Terms.MaxAge *= 2
		return session.Next(v)
	}},
	{name: "take a lowered maximum for a drain", wrap: func(w *world, k functions.Kit) functions.Kit {
		return stored(mutantStore{counter: func(id string, c lease.Counter) lease.Counter {
			if o := w.settings(id); o != nil && c.SlotsUsed > o.MaxSessions {
				c.Draining = true
			}
			return c
		}})(w, k)
	}},
	{name: "take sessions while the outpost drains", wrap: func(w *world, k functions.Kit) functions.Kit {
		return stored(mutantStore{reserve: func(s mutantStore, ctx context.Context, to session.Lease, max int) error {
			draining := s.w.store.counter(to.OutpostID).Draining
			_ = s.w.store.memory.SetDraining(ctx, to.OutpostID, false)
			err := s.Store.Reserve(ctx, to, max)
			_ = s.w.store.memory.SetDraining(ctx, to.OutpostID, draining)
			return err
		}, counter: func(_ string, c lease.Counter) lease.Counter { c.Draining = false; return c }})(w, k)
	}},
	{name: "log the connect token", wrap: func(w *world, k functions.Kit) functions.Kit {
		k.Sealer = loudSealer{k.Sealer, k.Log}
		return k
	}},
	{name: "put the token into the gateway's address", wrap: fleeted(mutantFleet{claim: func(c outposts.Claim) outposts.Claim {
		c.GatewayURL += "?token=" + c.ConnectToken.Reveal()
		return c
	}})},
	{name: "acknowledge a batch after a panic", wrap: func(w *world, k functions.Kit) functions.Kit {
		inner := w.claim
		w.claim = func(ctx context.Context, in lambda.SQSEvent) (lambda.SQSEventResponse, error) {
			_, err := inner(ctx, in)
			return lambda.SQSEventResponse{}, err
		}
		return k
	}},
	{name: "leave the fleet alone for eight minutes after any failure", wrap: fleeted(mutantFleet{failed: func(w *world, err error) error {
		if temporary := (*outposts.TemporaryError)(nil); errors.As(err, &temporary) {
			return &outposts.RateLimitedError{RetryAfter: 8 * time.Minute}
		}
		return err
	}})},
	{name: "await a late launch for a minute only", next: func(v session.View) session.Action {
		if in(v, session.Launching, session.Stopping) && !v.Lease.LaunchUntil.IsZero() && v.Now.After(v.Lease.LaunchUntil) {
			return changed(v, func(l *session.Lease) { l.LaunchUntil = l.LaunchUntil.Add(-90 * time.Second) })
		}
		return session.Next(v)
	}, edit: lateLaunches},
	{name: "sweep stands in for nobody", wrap: func(w *world, k functions.Kit) functions.Kit {
		return stored(mutantStore{health: func(h lease.Health) lease.Health {
			h.LastPoll, h.Waiting = w.time(), time.Time{}
			return h
		}})(w, k)
	}},
	{name: "claim what sleeps or is over", wrap: fleeted(mutantFleet{shows: func(e outposts.Entry) outposts.Entry {
		if e.Phase == session.PhasePending {
			e.Status = session.StatusPending
		}
		return e
	}})},
	{name: "never list our claims", wrap: fleeted(mutantFleet{list: func(q outposts.ListQuery) bool { return q.AcceptorID == "" }})},
	{name: "a new name for every call", wrap: tasked(func(w *world) mutantTasks {
		return mutantTasks{launch: func(l tasks.Launch) tasks.Launch {
			w.serial++
			l.AttemptID = fmt.Sprint(l.AttemptID[:8], "-", w.serial)
			return l
		}}
	})},
	{name: "put the token beside its ciphertext", wrap: func(_ *world, k functions.Kit) functions.Kit {
		k.Sealer = plainSealer{k.Sealer}
		return k
	}},
	{name: "send no offers", wrap: func(w *world, k functions.Kit) functions.Kit {
		k.Offers = deafOffers{}
		return k
	}},
}

// found looks for the first seed, of so many, in which a rule is broken.
func found(seeds int, m mutant) (Report, int) {
	var next, tried atomic.Int64
	var stop atomic.Bool
	var mu sync.Mutex
	var first Report
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for !stop.Load() {
				seed := next.Add(1)
				if seed > int64(seeds) {
					return
				}
				tried.Add(1)
				if r := Run(Options{Seed: uint64(seed), Sessions: 50, wrap: m.wrap, edit: m.edit}); len(r.Violations) > 0 {
					stop.Store(true)
					mu.Lock()
					first = r
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return first, int(tried.Load())
}

// Not parallel: a mutant of the core replaces what decides in the whole process.
func TestEveryDeliberateFaultIsFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if m.next != nil {
				drive.Next = m.next
				defer func() { drive.Next = session.Next }()
			}
			r, tried := found(*teethSeeds, m)
			if len(r.Violations) == 0 {
				t.Fatalf("not found in %d seeds", tried)
			}
			t.Logf("found after %d seeds: %s", tried, r.Violations[0])
		})
	}
}
