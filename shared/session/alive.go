package session

import "time"

// running decides for a lease whose task was seen running.
func running(v View) Action {
	t, found := v.own()
	switch {
	case t.Exit != nil:
		return v.exited(t)
	case !found && v.unlisted() && v.Try.Kind == NotTried:
		return ReadTasks{}
	}
	return alive(v)
}

// alive decides for a lease whose task lives or is on its way: is it still wanted, and is its claim long enough?
func alive(v View) Action {
	l := v.Lease
	switch v.Try.Kind {
	case Granted:
		return v.renewed()
	case ClaimLost:
		return v.doubt(RenewalLost, v.Now)
	case ClaimUnknown:
		return v.doubt(RenewalUnknown, v.Now)
	case Unclear:
		return Wait{Until: v.Try.Until, Why: v.Try.Reason}
	}
	if a, found := v.reap(); found {
		return a
	}
	if !l.Deadline.IsZero() && v.Now.After(l.Deadline) {
		return v.stop(GaveUp, StoppedByUs, "the session reached its maximum age")
	}
	if t, ok := v.own(); v.Tasks.Reading == Present && !v.Tasks.Partial && (!ok || t.Status == "MISSING") && v.Now.After(l.LaunchUntil.Add(LateLaunch)) {
		return v.doubt(SeemsGone, v.Tasks.At)
	}
	if !v.Terms.Known {
		return Wait{Why: "the outpost has left the configuration; its task runs to its end"}
	}
	e := v.Entry
	switch {
	case e.Reading == Unread:
		return ReadEntry{}
	case e.unknown():
		if v.renewDue() {
			return Claim{}
		}
		return Wait{Until: v.Now.Add(LookAgain), Why: "the queue entry cannot be read"}
	case e.Reading == Absent:
		return v.doubt(SeemsVanished, e.At)
	case e.stolen(v.Terms):
		return v.doubt(SeemsStolen, e.At)
	case refusal(l.Doubt.Kind) && v.Now.Sub(l.Doubt.At) < evidence[l.Doubt.Kind].apart:
		return Wait{Until: l.Doubt.At.Add(evidence[l.Doubt.Kind].apart), Why: "being watched: " + evidence[l.Doubt.Kind].why}
	case refusal(l.Doubt.Kind) && e.waits():
		return Claim{}
	case e.Status == StatusTerminated:
		return v.doubt(SeemsOver, e.At)
	case e.Status == StatusSuspended:
		return v.doubt(SeemsSuspended, e.At)
	case e.Phase == PhasePending: // expired, or released by a call that landed late
		return Claim{}
	case l.State == Running && l.ConnectedAt.IsZero() && e.Status == StatusRunning:
		to := v.to(Running)
		to.ConnectedAt, to.Doubt = e.At, Doubt{}
		return Save{To: to}
	case l.State == Running && l.ConnectedAt.IsZero() && v.Now.Sub(l.StateAt) > ConnectLimit:
		return v.doubt(SeemsMute, e.At)
	case l.Doubt.Kind != NoDoubt && e.At.After(l.Doubt.At):
		to := v.to(l.State)
		to.Doubt = Doubt{}
		return Save{To: to}
	case v.renewDue():
		return Claim{}
	}
	return Wait{Until: v.Now.Add(LookAgain), Why: "all is well"}
}

// renewed writes that the claim was renewed. The launched task keeps the token it was started with, which stays good under an unbroken claim.
func (v View) renewed() Action {
	to := v.to(v.Lease.State)
	to.holds(v.Try.Grant)
	if refusal(to.Doubt.Kind) {
		to.Doubt = Doubt{}
	}
	return Save{To: to}
}

// exited goes to stopping because the attempt's task is known to have stopped.
func (v View) exited(t Task) Save {
	x := *t.Exit
	s := v.stop(Undecided, x.Verdict, x.Reason)
	s.To.TaskARN = t.ARN
	if !v.Lease.ConnectedAt.IsZero() && v.Now.Sub(v.Lease.ConnectedAt) >= ProvenAfter {
		s.To.Failures = 0
	}
	if x.Verdict == StoppedEarly && !v.Lease.Deadline.IsZero() && !v.Now.Before(v.Lease.Deadline) {
		s.To.Outcome, s.To.Reason = GaveUp, "the session reached its maximum age"
		return s
	}
	if x.Verdict == StoppedEarly {
		s.To.Verdict = Failed
	}
	if s.To.Verdict == Failed {
		s.To.Failures++
	}
	s.To.NotBefore = v.Now.Add(pause(x.Class, s.To.Failures))
	if x.Breaker {
		s.Trip = s.To.Capacity
	}
	return s
}

// failed goes to stopping because the attempt is to be counted as failed, whether a task of it lives or not.
func (v View) failed(class Class, why string) Save {
	s := v.stop(Undecided, Failed, why)
	s.To.Failures++
	s.To.NotBefore = v.Now.Add(pause(class, s.To.Failures))
	return s
}

// stop goes to stopping.
func (v View) stop(o Outcome, verdict Verdict, why string) Save {
	to := v.to(Stopping)
	to.Outcome, to.Verdict, to.Reason, to.NotBefore = o, verdict, why, time.Time{}
	return Save{To: to}
}
