package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// span is the time that something took.
type span struct{ from, to time.Duration }

// look judges what may be so for a while only, and whether everything has settled.
func (j *judge) look() {
	w := j.w
	if j.settled {
		return
	}
	quiet := w.faultsOff && w.fleet.arrived == len(w.fleet.sessions)
	keep := j.open[:0]
	for _, s := range j.open {
		l := j.lease(s.id)
		live := j.live[:0]
		for _, t := range w.cluster.of(s.id) {
			if t.live() {
				live = append(live, t)
			}
		}
		j.live = live
		j.lookAt(s, l, live)
		switch busy := l != nil || len(live) > 0; {
		case !busy && s.finished() && !s.waking && !s.queued:
			s.watched = false
			continue
		case busy || !j.final(s):
			quiet = false
		}
		keep = append(keep, s)
	}
	j.open = keep
	j.settled = quiet
}

// opens has the judge look at a session until nothing more is to happen to it.
func (j *judge) opens(s *devin) {
	if !s.watched {
		s.watched = true
		j.open = append(j.open, s)
	}
}

// final says whether nothing more is to happen to the session.
func (j *judge) final(s *devin) bool {
	f := j.w.fleet
	if f.live(s) {
		return false
	}
	return s.finished() && !s.waking || !s.finished() && !j.wanted(s)
}

// wanted says whether the session may be claimed by us, were it to wait.
func (j *judge) wanted(s *devin) bool {
	o := j.w.settings(s.outpost)
	return o != nil && s.platform == "" && !(s.restricted && o.RefusePolicies)
}

// lookAt judges one session's lasting conditions.
func (j *judge) lookAt(s *devin, l *session.Lease, live []*task) {
	w, f := j.w, j.w.fleet
	ours := f.ours(s)
	wantedTasks := 0
	tellTasks := func() string {
		text := ""
		for _, t := range live {
			text += fmt.Sprintf("task %s is %s, desired %s; ", t.arn[len(t.arn)-8:], t.status, t.desired)
		}
		return text
	}
	unnamed, old, pointless, stolen, unproven := false, false, false, false, false
	blind := w.settings(s.outpost) == nil
	for _, t := range live {
		if t.desired != running {
			continue
		}
		if !t.foreign {
			wantedTasks++
		}
		unnamed = unnamed || (l == nil || l.AttemptID() != t.launch.AttemptID) && !(t.foreign && blind) // nobody looks for tasks of a definition that is not configured
		began := j.life(w.store.leases[s.id]).launched
		old = old || !t.foreign && began > 0 && t.created >= began && w.now-began > j.maxAge(s.outpost, slices.Max)
		pointless = pointless || s.finished() && w.now-s.over > 30*time.Second
		stolen = stolen || !ours && f.live(s)
		proving := session.StartLimit
		if t.status == running {
			proving += session.ConnectLimit
		}
		unproven = unproven || !t.foreign && t.began == 0 && s.over < t.created && s.status == session.StatusPending && w.now-t.created > proving
	}
	j.lasting(ruleOneTask, s, "two tasks live", wantedTasks > 1, false, 4, 3*time.Minute, tellTasks)
	j.lasting(ruleUnseen, s, "a task lives that no lease names", unnamed, false, 5, 4*time.Minute, tellTasks)
	j.lasting(ruleAge, s, "a task lives beyond the maximum age", old, false, 4, 4*time.Minute, tellTasks)
	j.lasting(ruleBudget, s, "a task lives that did not start or connect in time", unproven, blind || !w.calm(), 14, 15*time.Minute, tellTasks)
	j.lasting(ruleUnseen, s, "a task lives whose session wants none", pointless, blind, 8, 5*time.Minute, tellTasks)
	j.lasting(ruleUnseen, s, "a task lives whose claim is somebody else's", stolen, blind, 7, 5*time.Minute, tellTasks)
	j.lasting(ruleEnd, s, "a claim is ours that no lease names", ours && l == nil, blind, 14, 20*time.Minute, func() string { return "the session is " + s.status })

	j.lasting(ruleBudget, s, "a lease holds a slot and no task lives", l != nil && len(live) == 0, blind || !w.calm() || w.within(w.plan.hangs, s.outpost) || j.quiet(s.outpost), 10, 15*time.Minute,
		func() string { return fmt.Sprintf("it is %s: %s", l.State, l.Reason) })

	if w.opts.day != nil {
		return // it is measured
	}
	j.pickup(s)
}

// unsettled says what has not settled when the time was up.
func (j *judge) unsettled() {
	w := j.w
	for _, s := range w.fleet.sessions {
		l := w.store.leases[s.id]
		var live []*task
		for _, t := range w.cluster.of(s.id) {
			if t.live() {
				live = append(live, t)
			}
		}
		if !l.Active() && len(live) == 0 && j.final(s) {
			continue
		}
		w.violate(ruleSettles, s.id, fmt.Sprintf("the session is %s, claimed by %q; the lease is %s (%s: %s); %d tasks live; %d slots used", s.status, s.holder, l.State, l.Outcome,
			l.Reason, len(live), w.store.counter(s.outpost).SlotsUsed))
		return
	}
	w.violate(ruleSettles, "", "the time was up")
}
