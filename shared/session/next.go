package session

import (
	"slices"
	"time"
)

// Next answers with the one next thing to do for the session, given everything known of it. It is total: every View has an answer.
func Next(v View) Action {
	l := v.Lease
	if l != nil && l.Schema > SchemaVersion {
		return Wait{Why: "the lease was written by a newer version"}
	}
	if l == nil || l.State == None || l.State == Ended {
		return unheld(v)
	}
	switch l.State {
	case Reserved:
		return reserved(v)
	case Claimed:
		return claimed(v)
	case Launching:
		return launching(v)
	case Running:
		return running(v)
	case Stopping:
		return stopping(v)
	}
	return Wait{Why: "the lease is in an unknown state: " + string(l.State)}
}

// to starts the next version of the lease in the given state.
func (v View) to(s State) Lease {
	l := *v.Lease
	if l.State != s {
		l.State, l.StateAt, l.Doubt = s, v.Now, Doubt{}
	}
	l.Schema, l.Rev, l.UpdatedAt = SchemaVersion, l.Rev+1, v.Now
	return l
}

// holds writes what a claim just granted into the lease. The connect token is taken only by a lease that has not launched with another.
func (l *Lease) holds(g Grant) { l.ClaimedAt, l.ClaimUntil = g.Began, g.Began.Add(g.Life) }

// takes writes all that a claim granted into the lease.
func (l *Lease) takes(g Grant) {
	l.holds(g)
	l.Ciphertext, l.GatewayURL, l.RemoteSHA = g.Ciphertext, g.GatewayURL, g.RemoteSHA
}

// renewAt is when less than half of the claim's life is left; zero when no claim is known.
func (l *Lease) renewAt() time.Time {
	if l.ClaimUntil.IsZero() {
		return time.Time{}
	}
	return l.ClaimedAt.Add(l.ClaimUntil.Sub(l.ClaimedAt) / 2)
}

// renewDue says whether a claim that is still wanted must be renewed now.
func (v View) renewDue() bool {
	return !v.Lease.ClaimUntil.IsZero() && !v.Now.Before(v.Lease.renewAt())
}

// launch gives a lease that goes to launching a new attempt, in the first capacity choice that takes any.
func (v View) launch(l Lease) Save {
	l.Attempt++
	l.TaskARN, l.Verdict, l.NotBefore, l.ConnectedAt = "", NoVerdict, time.Time{}, time.Time{}
	l.LaunchUntil = v.Now.Add(LaunchWindow)
	if l.Deadline.IsZero() {
		l.Deadline = v.Now.Add(v.Terms.MaxAge)
	}
	l.Capacity = v.Terms.nextChoice("")
	return Save{To: l}
}

// nextChoice is the first capacity choice after the named one whose breaker is not open; after "" the first of all, even if every breaker is open, since the
// session already holds a claim. Empty when there is none.
func (t Terms) nextChoice(after string) string {
	passed := after == ""
	for _, c := range t.Capacity {
		if passed && c.Breaker != Opened {
			return c.Name
		}
		passed = passed || c.Name == after
	}
	if after == "" && len(t.Capacity) > 0 {
		return t.Capacity[0].Name
	}
	return ""
}

// own is the task of the lease's current attempt, if one was found.
func (v View) own() (Task, bool) {
	for _, t := range v.Tasks.List {
		if t.AttemptID == v.Lease.AttemptID() || (t.ARN != "" && t.ARN == v.Lease.TaskARN) {
			return t, true
		}
	}
	return Task{}, false
}

// unlisted says whether the session's tasks were not listed: one task's news says nothing of the others.
func (v View) unlisted() bool { return v.Tasks.Reading == Unread || v.Tasks.Partial }

// orphan says whether a task is live and the lease does not name it.
func (v View) orphan(t Task) bool {
	return t.Live() && !(v.Lease.Active() && (t.AttemptID == v.Lease.AttemptID() || t.ARN == v.Lease.TaskARN))
}

// orphaned says whether there is an orphan.
func (v View) orphaned() bool { return slices.ContainsFunc(v.Tasks.List, v.orphan) }

// seenTwice says whether an orphan's first sighting is long enough ago.
func (v View) seenTwice(first time.Time) bool {
	return !first.IsZero() && v.Now.Sub(first) >= OrphanAfter
}

// mayStop says whether a task may be told to stop: not when a stop has just failed.
func (v View) mayStop() bool { return v.Try.Kind == NotTried || v.Try.Kind == StopSent }

// reapable is an orphan that two sweeps saw and that has not been told to stop, if there is one and nothing has just failed.
func (v View) reapable() (Task, bool) {
	if !v.mayStop() {
		return Task{}, false
	}
	for _, t := range v.Tasks.List {
		if v.orphan(t) && v.seenTwice(t.Orphan) && t.Desired != "STOPPED" {
			return t, true
		}
	}
	return Task{}, false
}

// reap stops a reapable orphan beside a lease that lives, if there is one.
func (v View) reap() (Action, bool) {
	t, found := v.reapable()
	return StopTask{ARN: t.ARN, Why: "the lease names another attempt"}, found
}
