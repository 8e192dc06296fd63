package session_test

import (
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// The product of everything a View can hold: what can stand in a lease, what can be read of the entry and of the tasks, what the last effect can have answered,
// the terms, and moments on either side of the limits. Everything is read at the very moment of the View.

type named[T any] struct {
	name string
	make T
}

// point says where in the product a View stands.
type point struct {
	lease, entry, tasks, try, terms string
	at                              time.Duration
}

var outcomes = []session.Outcome{session.Completed, session.Suspended, session.Lost, session.GaveUp, session.Refused, session.Drained}

var verdicts = []session.Verdict{session.CleanExit, session.Failed, session.Interrupted, session.StoppedByUs}

// leases are the leases that the core itself can write, and two that it cannot read.
func leases() []named[*session.Lease] {
	list := []named[*session.Lease]{{"none", nil}}
	add := func(name string, s session.State, changes ...func(*session.Lease)) {
		list = append(list, named[*session.Lease]{name, with(held(s), changes...)})
	}
	running := func(l *session.Lease) { l.TaskARN = arn }
	connected := func(l *session.Lease) { l.ConnectedAt = after(50 * time.Second) }
	spent := func(l *session.Lease) { l.Failures = 2 }
	add("reserved", session.Reserved)
	add("claimed", session.Claimed)
	add("launching", session.Launching)
	add("launching, one failure left", session.Launching, spent)
	add("launching, last choice", session.Launching, func(l *session.Lease) { l.Capacity = "fargate" })
	add("launching, between rounds", session.Launching, func(l *session.Lease) {
		l.LaunchUntil, l.NotBefore, l.Failures, l.Reason = time.Time{}, after(10*time.Minute), 1, "no room"
	})
	add("launching, task known", session.Launching, running)
	add("launching, task in doubt", session.Launching, running, doubting(session.SeemsGone, 1, 3*time.Minute))
	add("running", session.Running)
	add("running, connected", session.Running, connected, spent)
	for _, d := range []session.Doubt{{Kind: session.SeemsSuspended, Reads: 2}, {Kind: session.SeemsOver, Reads: 1}, {Kind: session.SeemsVanished, Reads: 1},
		{Kind: session.SeemsStolen, Reads: 1}, {Kind: session.SeemsGone, Reads: 1}, {Kind: session.SeemsMute, Reads: 1}} {
		add("running, doubted: "+string(d.Kind), session.Running, doubting(d.Kind, d.Reads, 50*time.Second))
	}
	for _, v := range verdicts {
		add("stopping, "+string(v), session.Stopping, func(l *session.Lease) { l.Verdict = v })
	}
	add("stopping, failed for the last time", session.Stopping, failed(3))
	add("stopping, failed, pausing", session.Stopping, failed(1), func(l *session.Lease) { l.NotBefore = after(10 * time.Minute) })
	add("stopping, never sent", session.Stopping, failed(1), func(l *session.Lease) { l.TaskARN, l.LaunchUntil = "", time.Time{} })
	add("stopping, perhaps sent", session.Stopping, failed(1), func(l *session.Lease) { l.TaskARN = "" })
	add("stopping, task in doubt", session.Stopping, failed(1), doubting(session.SeemsGone, 1, 3*time.Minute))
	for _, o := range outcomes {
		add("stopping as "+string(o), session.Stopping, outcome(o))
	}
	add("ended", session.Ended)
	add("ended, not before", session.Ended, func(l *session.Lease) { l.NotBefore, l.GaveUps = after(10*time.Minute), 1 })
	add("of a newer version", session.Running, func(l *session.Lease) { l.Schema++ })
	add("in an unknown state", session.Running, func(l *session.Lease) { l.State = "hovering" })
	return list
}

func entries() []named[func(at time.Duration) session.Entry] {
	still := func(e session.Entry) func(time.Duration) session.Entry {
		return func(at time.Duration) session.Entry { // of its own: several tests ask at once
			read := e
			read.At = after(at)
			return read
		}
	}
	list := []named[func(time.Duration) session.Entry]{
		{"unread", func(time.Duration) session.Entry { return session.Entry{} }},
		{"unreadable", still(session.Entry{Reading: session.Failing})}, {"garbled", still(session.Entry{Reading: session.Garbled})},
		{"absent", still(session.Entry{Reading: session.Absent})},
	}
	for _, status := range []string{session.StatusPending, session.StatusRunning, session.StatusSuspended, session.StatusTerminated, "hibernating"} {
		list = append(list,
			named[func(time.Duration) session.Entry]{"ours, " + status, still(ours(status, 0))},
			named[func(time.Duration) session.Entry]{"waiting, " + status, still(waiting(status, 0))})
	}
	walled, mac, orphan := waiting(session.StatusPending, 0), waiting(session.StatusPending, 0), ours(session.StatusPending, 0)
	walled.Restricted, mac.Platform, orphan.Orphan = true, "macos", after(-2*time.Minute)
	return append(list, named[func(time.Duration) session.Entry]{"theirs", still(theirs(0))}, named[func(time.Duration) session.Entry]{"walled", still(walled)},
		named[func(time.Duration) session.Entry]{"for macos", still(mac)}, named[func(time.Duration) session.Entry]{"ours, sighted before", still(orphan)})
}

// lists are the tasks that can be found for a lease.
func lists() []named[func(l *session.Lease, at time.Duration) session.Tasks] {
	type maker = func(*session.Lease, time.Duration) session.Tasks
	of := func(make func(l *session.Lease) []session.Task) maker {
		return func(l *session.Lease, at time.Duration) session.Tasks {
			if l == nil {
				l = held(session.Ended) // the session had a life before
			}
			return tasks(at, make(l)...)
		}
	}
	own := func(status, desired string) maker {
		return of(func(l *session.Lease) []session.Task {
			t := task(l, status)
			t.Desired = desired
			return []session.Task{t}
		})
	}
	list := []named[maker]{
		{"unread", func(*session.Lease, time.Duration) session.Tasks { return session.Tasks{} }},
		{"unreadable", func(_ *session.Lease, at time.Duration) session.Tasks {
			return session.Tasks{Reading: session.Failing, At: after(at)}
		}},
		{"none", of(func(*session.Lease) []session.Task { return nil })},
		{"missing", own("MISSING", "")},
		{"provisioning", own("PROVISIONING", "RUNNING")},
		{"running", own("RUNNING", "RUNNING")},
		{"told to stop", own("RUNNING", "STOPPED")},
		{"another's", of(func(*session.Lease) []session.Task { return []session.Task{other("RUNNING", -1)} })},
		{"another's, sighted before", of(func(*session.Lease) []session.Task { return []session.Task{other("RUNNING", -time.Nanosecond+1)} })},
		{"another's, stopped", of(func(*session.Lease) []session.Task { return []session.Task{other("STOPPED", -1)} })},
		{"running, and another's sighted before", of(func(l *session.Lease) []session.Task { return []session.Task{task(l, "RUNNING"), other("RUNNING", 0)} })},
		{"another's, by an event", func(l *session.Lease, at time.Duration) session.Tasks {
			t := tasks(at, other("RUNNING", -1))
			t.Partial = true
			return t
		}},
		{"running, by an event", func(l *session.Lease, at time.Duration) session.Tasks {
			t := own("RUNNING", "RUNNING")(l, at)
			t.Partial = true
			return t
		}},
	}
	for _, x := range []session.Exit{{Verdict: session.CleanExit, Class: session.Retry}, {Verdict: session.Failed, Class: session.Backoff},
		{Verdict: session.Failed, Class: session.Terminal, Breaker: true}, {Verdict: session.Interrupted, Class: session.Retry},
		{Verdict: session.StoppedByUs, Class: session.Retry}, {Verdict: session.StoppedEarly, Class: session.Retry}, {}} {
		name := "stopped: " + string(x.Verdict)
		if x.Breaker {
			name += ", the choice's fault"
		}
		if x.Verdict == session.NoVerdict {
			name = "stopped for no known reason"
		}
		list = append(list, named[maker]{name, of(func(l *session.Lease) []session.Task { return []session.Task{stopped(l, x)} })})
	}
	return list
}

func tries() []named[func(at time.Duration) session.Try] {
	still := func(t session.Try) func(time.Duration) session.Try {
		return func(time.Duration) session.Try { return t }
	}
	faulty := func(at time.Duration) session.Try {
		t := renewal(at)
		t.Grant.Fault = "the claim came without a gateway"
		return t
	}
	return []named[func(time.Duration) session.Try]{
		{"nothing tried", still(session.Try{})},
		{"granted", grant}, {"renewed", renewal}, {"granted with a fault", faulty},
		{"claim lost", still(session.Try{Kind: session.ClaimLost})},
		{"claim unknown", still(session.Try{Kind: session.ClaimUnknown})},
		{"accepted", still(session.Try{Kind: session.Accepted, ARN: arn})},
		{"declined", still(session.Try{Kind: session.Declined, Class: session.Retry, Reason: "no room"})},
		{"declined, the choice's fault", still(session.Try{Kind: session.Declined, Class: session.Terminal, Breaker: true, Reason: "no image"})},
		{"conflict", still(session.Try{Kind: session.Conflict, ARN: arn})},
		{"conflict with no name", still(session.Try{Kind: session.Conflict, Reason: "the name is taken"})},
		{"unservable", still(session.Try{Kind: session.Unservable, Reason: "too large"})},
		{"released", still(session.Try{Kind: session.Released})},
		{"unclear", func(at time.Duration) session.Try {
			return session.Try{Kind: session.Unclear, Until: after(at + 2*time.Second), Reason: "no answer"}
		}},
		{"stop sent", still(session.Try{Kind: session.StopSent})},
		{"stop failed", still(session.Try{Kind: session.StopFailed, Reason: "access denied"})},
	}
}

func conditions() []named[func(*session.View)] {
	return []named[func(*session.View)]{
		{"as usual", func(*session.View) {}},
		{"draining", func(v *session.View) { v.Terms.Draining = true }},
		{"breakers open", func(v *session.View) {
			v.Terms.Capacity[0].Breaker, v.Terms.Capacity[1].Breaker = session.Opened, session.Opened
		}},
		{"probing", func(v *session.View) { v.Terms.Capacity[0].Breaker = session.Probing }},
		{"the launch is its own", func(v *session.View) { v.Limit = session.Own }},
		{"the launch is clear", func(v *session.View) { v.Limit = session.Clear }},
		{"left the configuration", func(v *session.View) { v.Terms = session.Terms{AcceptorID: acceptor} }},
	}
}

// moments lie on either side of the limits: the launch's (32 s), late effects (3 min 2 s), half of the claim's life (2.5 min), its end (5 min), the time to connect
// (10 min 40 s), to start (20 min) and the age (24 h).
var moments = []time.Duration{20 * time.Second, 70 * time.Second, 4 * time.Minute, 11 * time.Minute, 25 * time.Minute, 25 * time.Hour}

// product hands every View of the product to visit. What is unusual about the terms is crossed with every other moment only, to keep the number within millions.
func product(l named[*session.Lease], visit func(point, session.View)) {
	es, ts, tr, cs := entries(), lists(), tries(), conditions()
	for i, at := range moments {
		made := make([]session.Try, len(tr))
		for j, try := range tr {
			made[j] = try.make(at)
		}
		for _, list := range ts {
			found := list.make(l.make, at)
			for _, e := range es {
				read := e.make(at)
				for j, c := range cs {
					if j > 0 && (i+j)%2 == 0 || c.name == "left the configuration" && (read.Reading == session.Absent || read.Reading == session.Present) {
						continue // without the configuration there is no API to read an entry with
					}
					if strings.HasPrefix(c.name, "the launch is") && (l.make == nil || l.make.State != session.Launching) {
						continue
					}
					v := session.View{Now: after(at), Lease: l.make, Entry: read, Tasks: found, Terms: terms()}
					c.make(&v)
					for k, try := range tr {
						if try.name == "renewed" && l.make != nil && (l.make.State == session.Reserved || l.make.State == session.Claimed) {
							continue // their claims always want the token
						}
						v.Try = made[k]
						visit(point{l.name, e.name, list.name, try.name, c.name, at}, v)
					}
				}
			}
		}
	}
}
