package simulate

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// invocation is one run of a function.
type invocation struct {
	function string
	serial   int
	began    time.Duration
	deadline time.Duration // Lambda ends it then
	dead     bool          // it crashed or was ended: nothing it does has an effect any more
	over     bool
	faulted  bool // something was injected into it, or an outage met it
}

// actor is one line of execution of an invocation, a coroutine: it runs until its next port call, and goes on when the loop says so. A coroutine whose work is
// done waits for more.
type actor struct {
	w     *world
	inv   *invocation
	child bool // started by a fan-out
	body  func()
	done  func()
	over  bool
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool
}

// crashed is what unwinds an actor whose invocation is dead.
type crashed struct{}

// spawn starts an actor now.
func (w *world) spawn(inv *invocation, child bool, body, done func()) {
	var a *actor
	if n := len(w.idle); n > 0 {
		a = w.idle[n-1]
		w.idle = w.idle[:n-1]
	} else {
		a = &actor{w: w}
		a.next, a.end = iter.Pull(func(yield func(struct{}) bool) {
			a.yield = yield
			for more := true; more; more = yield(struct{}{}) {
				a.run()
				a.over = true
			}
		})
	}
	a.inv, a.child, a.body, a.done, a.over = inv, child, body, done, false
	w.actors[a] = true
	w.after(0, func() { w.resume(a) })
}

// run is the work of an actor. One whose invocation is dead does none.
func (a *actor) run() {
	defer func() {
		if p := recover(); p != nil && p != any(crashed{}) {
			a.w.violate(rulePanic, "", fmt.Sprintf("%s panics: %v\n%s", a.inv.function, p, debug.Stack()))
			a.inv.dead = true
		}
	}()
	if !a.inv.dead {
		a.body()
	}
}

// resume lets an actor run until its next port call.
func (w *world) resume(a *actor) {
	before := w.current
	w.current = a
	a.next()
	w.current = before
	if a.over {
		delete(w.actors, a)
		a.done()
		w.idle = append(w.idle, a)
	}
}

// sleep lets time pass for the actor that runs.
func (a *actor) sleep(d time.Duration) {
	a.alive()
	a.w.after(d, func() { a.w.resume(a) })
	a.yield(struct{}{})
	a.alive()
}

// alive ends an actor whose invocation is dead.
func (a *actor) alive() {
	if a.inv.dead {
		panic(crashed{})
	}
}

// invoke runs a function with Lambda's time limit; over is told whether it came to its end.
func (w *world) invoke(function string, limit time.Duration, run func(ctx context.Context), over func(finished bool)) {
	if w.closed {
		return
	}
	w.serial++
	w.runs[function]++
	inv := &invocation{function: function, serial: w.serial, began: w.now, deadline: w.now + limit}
	ctx := deadline{context.Background(), epoch.Add(inv.deadline)}
	finished := false
	w.spawn(inv, false, func() { run(ctx); finished = true }, func() {
		inv.over = true
		if w.opts.day != nil && inv.function == "sweep" {
			w.opts.day.sweep = max(w.opts.day.sweep, w.now-inv.began)
		}
		if !inv.dead && finished && !inv.faulted && inv.function == "sweep" && w.now-inv.began < 40*time.Second && w.calm() {
			w.cleanSweeps++
			w.judge.sweeps = append(w.judge.sweeps, span{inv.began, w.now})
		}
		over(finished && !inv.dead)
	})
	w.at(inv.deadline, func() {
		if inv.over || inv.dead {
			return
		}
		w.note("", "%s #%d is ended by its time limit", inv.function, inv.serial)
		if !w.chance(w.plan.zombies) { // else its end is delayed: it is a sleeper that wakes
			inv.dead = true
		}
	})
}

// fanOut runs do for each index as interleaved actors of the invocation that runs, and waits.
func (w *world) fanOut(n, atOnce int, do func(i int)) {
	parent := w.current
	parent.alive()
	width := min(n, atOnce, w.plan.width)
	if !parent.child && parent.inv.function != "claim" { // outposts are looked at all at once
		width = min(n, atOnce)
	}
	if width <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	next, running := 0, width
	for range width {
		w.spawn(parent.inv, true, func() {
			for next < n {
				i := next
				next++
				do(i)
			}
		}, func() {
			if running--; running == 0 {
				w.resume(parent)
			}
		})
	}
	for running > 0 {
		parent.yield(struct{}{})
	}
	parent.alive()
}

// deadline is a context whose deadline is one of virtual time; nothing in real time ends it.
type deadline struct {
	context.Context
	at time.Time
}

// Deadline implements [context.Context].
func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// clock is drive.Clock in virtual time.
type clock struct{ w *world }

// Now answers the virtual time.
func (c clock) Now() time.Time { return c.w.time() }

// Sleep lets virtual time pass.
func (c clock) Sleep(_ context.Context, d time.Duration) error {
	c.w.current.sleep(d)
	return nil
}
