package session

import "time"

// launching decides for an attempt that has a name. Until its task's ARN is in the lease, RunTask may have been sent or not, and may land late.
func launching(v View) Action {
	if t, ok := v.own(); ok && t.Status != "MISSING" {
		return found(v, t)
	}
	if v.Lease.TaskARN != "" {
		if v.unlisted() && v.Try.Kind == NotTried {
			return ReadTasks{}
		}
		return alive(v)
	}
	return untasked(v)
}

// found decides for a launching lease whose task is known to ECS.
func found(v View, t Task) Action {
	l := v.Lease
	switch {
	case t.Exit != nil:
		return v.exited(t)
	case t.Status == "RUNNING":
		to := v.to(Running)
		to.TaskARN = t.ARN
		return Save{To: to, Heal: v.broken(to.Capacity)}
	case l.TaskARN == "":
		to := v.to(Launching)
		to.TaskARN, to.Reason = t.ARN, ""
		return Save{To: to}
	case v.Now.Sub(l.launchedAt()) > StartLimit:
		return v.failed(Retry, "the task did not start within "+StartLimit.String())
	}
	return alive(v)
}

// launchedAt is when the last round of launching began.
func (l *Lease) launchedAt() time.Time {
	if at := l.LaunchUntil.Add(-LaunchWindow); at.After(l.StateAt) {
		return at
	}
	return l.StateAt
}

// broken names the choice again if its breaker is not closed.
func (v View) broken(name string) string {
	for _, c := range v.Terms.Capacity {
		if c.Name == name && c.Breaker != Closed {
			return name
		}
	}
	return ""
}

// untasked decides for a launching lease without a task: send RunTask, or find out what became of it.
func untasked(v View) Action {
	l := v.Lease
	switch v.Try.Kind {
	case Accepted, Conflict:
		if v.Try.ARN == "" {
			return unnamed(v)
		}
		to := v.to(Launching)
		to.TaskARN = v.Try.ARN
		return Save{To: to}
	case Unservable: // nor could it be built by anybody who tried before
		s := v.stop(Refused, NoVerdict, v.Try.Reason)
		s.To.LaunchUntil = time.Time{}
		return s
	case Granted:
		return v.renewed()
	case ClaimLost, ClaimUnknown:
		return v.stop(Lost, NoVerdict, "the claim was lost during the launch")
	case Declined:
		if v.unlisted() { // a refusal and a task have been seen together
			return ReadTasks{}
		}
		if v.Tasks.Reading == Failing {
			return unlistable(v)
		}
		return refused(v)
	case Unclear:
		return Wait{Until: v.Try.Until, Why: v.Try.Reason}
	}
	drained := !v.Terms.Known || v.Terms.Draining
	switch {
	case (drained || v.renewDue()) && v.unlisted(): // there may be a task that nobody has written down yet, and that neither a drain nor one refusal stops
		return ReadTasks{}
	case drained && v.Tasks.Reading == Failing:
		return unlistable(v)
	case drained:
		return v.stop(Drained, NoVerdict, "the outpost is draining")
	case v.renewDue():
		return Claim{}
	}
	if !l.NotBefore.IsZero() { // between two rounds
		if a, found := v.reap(); found {
			return a
		}
		if v.Now.Before(l.NotBefore) {
			return Wait{Until: l.NotBefore, Why: l.Reason}
		}
		to := v.to(Launching)
		to.NotBefore, to.LaunchUntil = time.Time{}, v.Now.Add(LaunchWindow)
		to.Failures++ // only now: until a new round begins, the task of the last one may still turn up
		return Save{To: to}
	}
	if v.Now.Before(l.LaunchUntil) {
		if v.Limit == Foreign {
			return Wait{Until: l.LaunchUntil, Why: "another invocation may be sending RunTask"}
		}
		return RunTask{}
	}
	switch {
	case v.unlisted():
		return ReadTasks{}
	case v.Tasks.Reading == Failing:
		return unlistable(v)
	}
	return again(v, Retry, "it is unknown whether RunTask was accepted", "")
}

func unlistable(v View) Action {
	return Wait{Until: v.Now.Add(SettleEvery), Why: "the session's tasks cannot be listed"}
}

// unnamed decides when the attempt's name is taken by a task that ECS does not name: if the list does not name it either, the attempt takes another name.
func unnamed(v View) Action {
	switch {
	case v.unlisted():
		return ReadTasks{}
	case v.Tasks.Reading == Failing:
		return unlistable(v)
	}
	s := v.failed(Retry, v.Try.Reason)
	if v.Limit == Clear {
		s.To.LaunchUntil = time.Time{}
	}
	return s
}

// refused goes on to the next capacity choice under the same attempt, so that a call which lands late meets its own name; after the last choice it pauses.
func refused(v View) Action {
	trip := ""
	if v.Try.Breaker {
		trip = v.Lease.Capacity
	}
	if next := v.Terms.nextChoice(v.Lease.Capacity); next != "" {
		to := v.to(Launching)
		to.Capacity, to.LaunchUntil, to.Reason = next, v.Now.Add(LaunchWindow), v.Try.Reason
		return Save{To: to, Trip: trip}
	}
	return again(v, v.Try.Class, v.Try.Reason, trip)
}

// again counts a round of launching that gave no task, and starts another under the same name after a pause, within the budget. The last round is given up only
// when nothing of it can land late any more.
func again(v View, class Class, why, trip string) Action {
	clear := v.Limit == Clear && v.Try.Kind == Declined
	spent := v.Lease.Failures+1 >= v.Terms.MaxFailures
	if late := v.Lease.LaunchUntil.Add(LateLaunch); spent && !clear && v.Tasks.At.Before(late) {
		return Wait{Until: late, Why: "a launch may still take effect"}
	}
	s := v.failed(class, why)
	if !spent {
		s.To = v.to(Launching)
		s.To.Capacity, s.To.Reason = v.Terms.nextChoice(""), why
		s.To.NotBefore = v.Now.Add(pause(class, s.To.Failures+1))
	}
	if clear {
		s.To.LaunchUntil = time.Time{} // nothing can land late
	}
	s.Trip = trip
	return s
}
