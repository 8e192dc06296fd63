package simulate

import (
	"errors"
	"slices"
	"time"
)

// Fault is a kind of thing that goes wrong. Every one that is injected is counted.
type Fault string

// The faults. Those of a call first: they meet one call to one service.
const (
	FailsBefore Fault = "fails_before" // the call fails, and had no effect
	FailsAfter  Fault = "fails_after"  // the call takes effect, and fails
	LandsLate   Fault = "lands_late"   // the call times out, and takes effect seconds to minutes after its caller gave up
	Throttled   Fault = "throttled"    // the service asks to slow down
	Conflicts   Fault = "conflicts"    // a write to the table meets another's transaction, again and again, and had no effect
	Panics      Fault = "panics"       // the code panics in the middle of a message's work
	StallBefore Fault = "stall_before" // the function stands still for up to minutes, then the call is made
	StallAfter  Fault = "stall_after"  // the call takes effect, then the function stands still
	CrashBefore Fault = "crash_before" // the function is gone before the call
	CrashAfter  Fault = "crash_after"  // the function is gone after the call took effect

	Outage          Fault = "outage"           // a service answers nothing for minutes, up to an hour
	Broken          Fault = "broken"           // a function does not run for up to an hour
	CapacityGone    Fault = "capacity_gone"    // a capacity choice takes no task for minutes to hours
	BadImage        Fault = "bad_image"        // tasks of a capacity choice stop before they run
	NeverStarts     Fault = "never_starts"     // a task stays PENDING
	WorkerDies      Fault = "worker_dies"      // a worker fails while it serves, or its host goes away
	WorkerMute      Fault = "worker_mute"      // a worker runs and never connects
	MessageLost     Fault = "message_lost"     // an offer is lost
	MessageDoubled  Fault = "message_doubled"  // an offer comes twice
	MessageLate     Fault = "message_late"     // an offer comes minutes later
	EventLost       Fault = "event_lost"       // a task event is lost
	EventDoubled    Fault = "event_doubled"    // a task event comes twice
	EventLate       Fault = "event_late"       // a task event comes late, and so out of order
	IndexLags       Fault = "index_lags"       // the index of active leases shows what was true up to 45 seconds ago
	ListLags        Fault = "list_lags"        // a new task is not listed for up to 25 seconds
	TaskMissing     Fault = "task_missing"     // a new task, or one that runs, is not listed and described as MISSING
	RivalClaims     Fault = "rival_claims"     // another acceptor is first
	ClaimStolen     Fault = "claim_stolen"     // another acceptor takes a claim that is ours
	StatusFlash     Fault = "status_flash"     // a running session reads suspended for seconds
	EntryBlip       Fault = "entry_blip"       // an entry reads 404 for seconds
	EntryLies       Fault = "entry_lies"       // an entry reads terminated for a moment, or somebody else's for seconds, or one renewal is told that it is
	SessionChanged  Fault = "session_changed"  // a person ends a session or puts it to sleep, at any moment
	BadClaim        Fault = "bad_claim"        // a claim's answer lacks something, or is for another session
	Redeployed      Fault = "redeployed"       // the configuration changes under running sessions
	ScheduleDoubled Fault = "schedule_doubled" // a schedule fires twice
	ForeignStop     Fault = "foreign_stop"     // somebody stops a task by hand
	ForeignTask     Fault = "foreign_task"     // somebody starts a task for a session by hand, that no lease names
	Hangs           Fault = "hangs"            // the fleet API does not answer for one outpost, for minutes to an hour
	StreamSilent    Fault = "stream_silent"    // a watch stays open and brings nothing
)

// Faults are all of them.
var Faults = []Fault{FailsBefore, FailsAfter, LandsLate, Throttled, Conflicts, Panics, StallBefore, StallAfter, CrashBefore, CrashAfter, Outage, Broken, CapacityGone, BadImage,
	NeverStarts, WorkerDies, WorkerMute, MessageLost, MessageDoubled, MessageLate, EventLost, EventDoubled, EventLate, IndexLags, ListLags, TaskMissing, RivalClaims,
	ClaimStolen, StatusFlash, EntryBlip, EntryLies, SessionChanged, BadClaim, Redeployed, ScheduleDoubled, ForeignStop, ForeignTask, Hangs, StreamSilent}

// callFaults are those of one call, and gone those after which the function does nothing any more, or not for minutes.
var (
	callFaults = Faults[:10]
	gone       = []Fault{StallBefore, StallAfter, CrashBefore, CrashAfter}
)

// service is what a call goes to.
type service string

// The services.
const (
	fleetAPI service = "fleet API"
	ecsAPI   service = "ECS"
	table    service = "DynamoDB"
	queueAPI service = "SQS"
	keyAPI   service = "KMS"
)

// services are all of them.
var services = []service{fleetAPI, ecsAPI, table, queueAPI, keyAPI}

// How long a caller waits for an answer, and how long after its caller gave up a call can still take effect.
const (
	callTimeout = 10 * time.Second
	landsWithin = 2 * time.Minute
)

// What a call that did not answer well answers.
var (
	errDown      = errors.New("simulated: the service is down")
	errFailed    = errors.New("simulated: the service failed")
	errTimeout   = errors.New("simulated: no answer in time")
	errThrottled = errors.New("simulated: too many requests")
	errConflict  = errors.New("simulated: another transaction is under way")
)

// inject counts a fault and says whether it is on: chance of p, while faults are on and this one is not masked.
func (w *world) inject(f Fault, p float64) bool {
	if p <= 0 || w.faultsOff || !w.chance(p) || slices.Contains(w.opts.Without, f) {
		return false
	}
	w.faults[f]++
	return true
}

// bug is what the code panics with when it has one.
type bug struct{}

// drawn is the fault that meets a call; empty = none.
func (w *world) drawn(s service, verb string) Fault {
	p := w.plan.callFaults
	if w.faultsOff || p <= 0 || w.rng.Float64() >= p {
		return ""
	}
	f := w.plan.mix[w.rng.IntN(len(w.plan.mix))]
	cannot := f == Conflicts && (s != table || verb == "GetItem" || verb == "Query") || f == Panics && w.current.inv.function != "claim"
	if cannot || slices.Contains(w.opts.Without, f) {
		return ""
	}
	w.faults[f]++
	return f
}

// call makes one call to a service, for a session, an outpost or, with an empty id, no one in particular: time passes, things go wrong, and effect happens once, at most once, or late. Its error is what the caller hears.
// A call that must not be sent after a moment says so in notAfter; zero = there is none.
func (w *world) call(s service, verb, id string, notAfter time.Time, effect func()) error {
	a := w.current
	a.alive()
	inv := a.inv // the actor may be another's when a call lands late
	w.calls[s][verb]++
	began := w.now
	land := func() {
		w.begun = began
		effect()
	}
	if w.down(s) {
		inv.faulted = true
		a.sleep(w.between(10*time.Millisecond, 2*time.Second))
		w.note(id, "%s #%d %s: %s is down", inv.function, inv.serial, verb, s)
		return errDown
	}
	latency := w.latency(s, verb)
	f := w.drawn(s, verb)
	if f == "" {
		a.sleep(latency)
		land()
		return nil
	}
	inv.faulted, w.faultAt[id] = true, w.now
	if slices.Contains(gone, f) && inv.function != "observe" { // whoever else it was to look after is met as well
		w.faultAt[""] = w.now
	}
	w.note(id, "%s #%d %s: %s", inv.function, inv.serial, verb, f)
	switch f {
	case FailsBefore:
		a.sleep(latency)
		return errFailed
	case Throttled:
		a.sleep(latency)
		return errThrottled
	case Conflicts:
		a.sleep(latency)
		return errConflict
	case Panics:
		panic(bug{})
	case FailsAfter:
		a.sleep(latency)
		land()
		return errFailed
	case LandsLate:
		w.after(w.between(time.Second, landsWithin), func() {
			w.note(id, "%s #%d %s lands late", inv.function, inv.serial, verb)
			w.late = true
			land()
			w.late = false
		})
		a.sleep(callTimeout)
		return errTimeout
	case StallBefore:
		a.sleep(w.stall())
		if !notAfter.IsZero() && w.time().After(notAfter) {
			return errTimeout
		}
		land()
	case StallAfter:
		a.sleep(latency)
		land()
		a.sleep(w.stall())
	case CrashBefore:
		inv.dead = true
		a.alive()
	case CrashAfter:
		a.sleep(latency)
		land()
		inv.dead = true
		a.alive()
	}
	return nil
}

// latency is how long a service takes to answer: anything that brings actors into another order, or what is usual.
func (w *world) latency(s service, verb string) time.Duration {
	if w.opts.day != nil {
		return w.opts.day.latency(s, verb)
	}
	return w.between(3*time.Millisecond, 60*time.Millisecond)
}

// instant makes a call that other actors of the same invocation wait for: no time passes in it.
func (w *world) instant(s service, verb, id string, effect func()) error {
	a := w.current
	a.alive()
	if !a.child {
		return w.call(s, verb, id, time.Time{}, effect)
	}
	w.calls[s][verb]++
	if w.down(s) || w.inject(FailsBefore, w.plan.callFaults/4) {
		a.inv.faulted, w.faultAt[id] = true, w.now
		return errFailed
	}
	effect()
	return nil
}

// stall is how long a function stands still: mostly seconds, sometimes minutes.
func (w *world) stall() time.Duration {
	if w.chance(0.6) {
		return w.between(time.Second, 30*time.Second)
	}
	return w.between(30*time.Second, 6*time.Minute)
}

// window is a time in which something does not work.
type window struct {
	from, to time.Duration
	what     string
}

func (w *world) within(list []window, what string) bool {
	for _, o := range list {
		if o.what == what && w.now >= o.from && w.now < o.to && !w.faultsOff {
			return true
		}
	}
	return false
}

// lately says whether it does not work now, or did not a while ago.
func (w *world) lately(list []window, what string, ago time.Duration) bool {
	return slices.ContainsFunc(list, func(o window) bool { return o.what == what && w.now >= o.from && w.now < o.to+ago })
}

// down says whether a service answers nothing now.
func (w *world) down(s service) bool {
	if len(w.plan.outages) == 0 || !w.within(w.plan.outages, string(s)) {
		return false
	}
	w.faults[Outage]++
	return true
}

// calm says whether every service answers now.
func (w *world) calm() bool {
	for _, o := range w.plan.outages {
		if w.now >= o.from && w.now < o.to && !w.faultsOff {
			return false
		}
	}
	return true
}
