package session

import "time"

// stopping decides for a lease whose attempt is over or was told to be: first no task may live, then the outcome is found, then all is given back.
func stopping(v View) Action {
	if w, settled := v.settled(); !settled {
		return w
	}
	if v.Lease.Outcome != Undecided {
		return v.giveBack()
	}
	return v.decide()
}

// settled says whether no task of the session lives or can still come to live, and if not, what to do about it.
func (v View) settled() (Action, bool) {
	l := v.Lease
	switch {
	case v.unlisted():
		return ReadTasks{}, false
	case v.Tasks.Reading == Failing:
		return v.meanwhile(Wait{Until: v.Now.Add(LookAgain), Why: "the session's tasks cannot be listed"}), false
	}
	own, ok := v.own()
	if ok && own.Live() && own.Desired != "STOPPED" && v.mayStop() {
		return StopTask{ARN: own.ARN, Why: l.Reason}, false
	}
	if a, found := v.reap(); found {
		return a, false
	}
	if ok && own.Live() {
		return v.meanwhile(Wait{Until: v.Now.Add(LookAgain), Why: "the task is stopping"}), false
	}
	if v.orphaned() {
		return v.meanwhile(Wait{Until: v.Now.Add(LookAgain), Why: "a task of another attempt is being watched"}), false
	}
	if ok && own.Exit != nil {
		return nil, true
	}
	if l.LaunchUntil.IsZero() { // nothing was ever launched
		return nil, true
	}
	if late := l.LaunchUntil.Add(LateLaunch); v.Tasks.At.Before(late) {
		return v.meanwhile(Wait{Until: late, Why: "a launch may still take effect"}), false
	}
	if l.TaskARN == "" {
		return nil, true
	}
	return v.confirmed(SeemsGone, v.Tasks.At)
}

// decide finds out what the end of the attempt means for the session.
func (v View) decide() Action {
	l, e := v.Lease, v.Entry
	if !v.Terms.Known {
		return v.outcome(Drained, "the outpost has left the configuration")
	}
	if v.Try.Kind == Granted && v.Try.Grant.Ciphertext == "" && v.Try.Grant.Fault == "" {
		return v.renewed()
	}
	switch v.Try.Kind {
	case ClaimLost, ClaimUnknown:
		return v.outcome(Lost, "the claim was lost before the relaunch")
	case Unservable:
		return v.outcome(Refused, v.Try.Reason)
	case Unclear:
		return Wait{Until: v.Try.Until, Why: v.Try.Reason}
	}
	switch {
	case e.Reading == Unread:
		return ReadEntry{}
	case e.Reading == Failing, e.Reading == Garbled && v.Now.Sub(l.StateAt) < ReadLimit:
		return v.meanwhile(Wait{Until: v.Now.Add(LookAgain), Why: "the queue entry cannot be read"})
	}
	spent := l.Verdict == Failed && l.Failures >= v.Terms.MaxFailures
	switch {
	case e.Reading == Garbled && !spent: // given back, it is Devin's to say
		return v.outcome(Lost, "the queue entry cannot be read")
	case e.Reading == Absent && l.Verdict == CleanExit:
		return v.outcome(Suspended, "the remote ended and the session left the queue")
	case e.Reading == Absent:
		return v.outcome(Lost, "the session left the queue")
	case e.stolen(v.Terms):
		return v.outcome(Lost, "somebody else holds the claim")
	case e.Status == StatusTerminated:
		return v.outcome(Completed, "the session is over")
	case e.Status == StatusSuspended:
		return v.outcome(Suspended, "the session sleeps")
	case spent:
		return v.outcome(GaveUp, l.Reason)
	case e.Phase == PhasePending:
		return v.outcome(Lost, "the claim ran out; the session waits again")
	case l.Verdict == CleanExit && v.Now.Sub(l.StateAt) < SettleFor:
		return Wait{Until: v.Now.Add(SettleEvery), Why: "the session's status may lag the remote's exit"}
	case l.Verdict == CleanExit:
		to := v.to(Stopping)
		to.Verdict, to.Reason = Failed, "the remote exited 0 while the session goes on"
		to.Failures++
		to.NotBefore = v.Now.Add(pause(Retry, to.Failures))
		return Save{To: to}
	case v.Terms.Draining:
		return v.outcome(Drained, "the outpost is draining")
	case !l.Deadline.IsZero() && !v.Now.Before(l.Deadline):
		return v.outcome(GaveUp, "the session reached its maximum age")
	case v.Now.Before(l.NotBefore):
		return v.meanwhile(Wait{Until: l.NotBefore, Why: l.Reason})
	case v.Try.Kind == Granted:
		return v.relaunch()
	}
	return Claim{Encrypt: true}
}

// relaunch starts the next attempt with what the claim just granted.
func (v View) relaunch() Action {
	g := v.Try.Grant
	if g.Fault != "" {
		return v.outcome(Refused, g.Fault)
	}
	to := v.to(Launching)
	to.takes(g)
	return v.launch(to)
}

// outcome writes how the lease will end before anything is given back, so that a crash in between does not change it.
func (v View) outcome(o Outcome, why string) Save {
	to := v.to(Stopping)
	to.Outcome, to.Reason = o, why
	return Save{To: to}
}

// giveBack releases the claim, then ends the lease.
func (v View) giveBack() Action {
	l := v.Lease
	switch {
	case v.Try.Kind == Unclear:
		return Wait{Until: v.Try.Until, Why: v.Try.Reason}
	case !v.Terms.Known, v.Try.Kind == Released:
		return End{v.ended(l.Outcome, l.Reason)}
	}
	return Release{}
}

// meanwhile renews a claim that is known to be ours and is running out while something else is awaited. A claim that stopping lost is never made again.
func (v View) meanwhile(w Wait) Action {
	l := v.Lease
	switch {
	case v.Try.Kind == Granted:
		return v.renewed()
	case v.Try.Kind != NotTried && v.Try.Kind != StopSent && v.Try.Kind != StopFailed, !v.Terms.Known, l.Outcome == Lost, l.Outcome == Completed, !v.renewDue():
		return w
	case v.Entry.Reading == Unread:
		return ReadEntry{}
	case v.Entry.Reading == Present && v.Entry.mine(v.Terms) && v.Entry.waits():
		return Claim{}
	}
	return w
}

// ended is the lease as it will be kept for history.
func (v View) ended(o Outcome, why string) Lease {
	to := v.to(Ended)
	to.Outcome, to.Reason = o, why
	to.EndedAt, to.ExpiresAt = v.Now, v.Now.Add(KeepEnded)
	to.Ciphertext, to.NotBefore = "", time.Time{}
	switch o {
	case GaveUp, Refused:
		to.GaveUps++
		to.NotBefore = v.Now.Add(banned(to.GaveUps))
	case Completed, Suspended:
		to.GaveUps = 0
	}
	return to
}
