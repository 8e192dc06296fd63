package session

// unheld decides for a session of which we hold nothing: take it, or leave it; and clear away what no lease names.
func unheld(v View) Action {
	if t, ok := v.reapable(); ok {
		return StopTask{ARN: t.ARN, Why: "no lease names this task"}
	}
	if v.orphaned() {
		return Wait{Until: v.Now.Add(LookAgain), Why: "a task that no lease names is being watched"}
	}
	switch v.Entry.Reading {
	case Unread:
		return ReadEntry{}
	case Failing, Garbled:
		return Wait{Until: v.Now.Add(LookAgain), Why: "the queue entry cannot be read"}
	}
	if v.Entry.Reading == Present && v.Entry.mine(v.Terms) {
		if !v.seenTwice(v.Entry.Orphan) {
			return Wait{Until: v.Now.Add(LookAgain), Why: "a claim that no lease names is being watched"}
		}
		if v.Try.Kind == Released {
			return Wait{Why: "a claim that no lease named was released"}
		}
		if v.Try.Kind == Unclear {
			return Wait{Until: v.Try.Until, Why: v.Try.Reason}
		}
		return Release{}
	}
	if why := v.Entry.Unclaimable(v.Terms); why != "" {
		return Wait{Why: why}
	}
	return reserve(v)
}

// reserve takes a slot, unless the session or the outpost must wait.
func reserve(v View) Action {
	to := Lease{Schema: SchemaVersion, SessionID: v.Entry.SessionID, OutpostID: v.Entry.OutpostID, State: Reserved, Rev: 1,
		ReservedAt: v.Now, StateAt: v.Now, UpdatedAt: v.Now}
	if old := v.Lease; old != nil {
		if v.Now.Before(old.NotBefore) {
			return Wait{Until: old.NotBefore, Why: "given back before: " + old.Reason}
		}
		to.Rev, to.Attempt, to.GaveUps = old.Rev+1, old.Attempt, old.GaveUps
	}
	if v.Terms.Draining {
		return Wait{Why: "the outpost is draining"}
	}
	for _, c := range v.Terms.Capacity {
		switch c.Breaker {
		case Closed:
			return Reserve{To: to}
		case Probing:
			return Reserve{To: to, Probe: c.Name}
		}
	}
	return Wait{Until: v.Now.Add(LookAgain), Why: "no capacity choice takes sessions now"}
}
