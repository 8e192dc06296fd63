package session

// reserved decides for a lease that holds a slot and no claim that it knows of.
func reserved(v View) Action {
	switch v.Try.Kind {
	case Granted:
		return granted(v)
	case ClaimLost:
		return End{v.ended(Lost, "another worker took the session first")}
	case ClaimUnknown:
		return End{v.ended(Lost, "the session left the queue before it was claimed")}
	case Unservable:
		return v.stop(Refused, NoVerdict, v.Try.Reason)
	case Unclear:
		return v.unclaimed(Wait{Until: v.Try.Until, Why: v.Try.Reason})
	}
	if !v.Terms.Known {
		return End{v.ended(Drained, "the outpost has left the configuration")}
	}
	if v.Terms.Draining { // an earlier claim may have been made without our hearing of it, so that it must be released
		return v.stop(Drained, NoVerdict, "the outpost is draining")
	}
	if !v.Entry.unknown() && v.Now.Sub(v.Entry.At) > Fresh {
		return ReadEntry{}
	}
	switch {
	case v.Entry.unknown():
		return v.unclaimed(Wait{Until: v.Now.Add(SettleEvery), Why: "the queue entry cannot be read"})
	case v.Entry.Reading == Present && v.Entry.mine(v.Terms): // claimed by a call whose answer was lost
		return Claim{Encrypt: true}
	}
	if why := v.Entry.Unclaimable(v.Terms); why != "" {
		return End{v.ended(Lost, why)}
	}
	return Claim{Encrypt: true}
}

// unclaimed waits for a claim within [ClaimLimit]; then the session is given back, in case that a claim was made without our hearing of it, and the slot goes to another.
func (v View) unclaimed(w Wait) Action {
	if v.Now.Sub(v.Lease.StateAt) < ClaimLimit {
		return w
	}
	return v.stop(GaveUp, NoVerdict, w.Why)
}

// granted judges a fresh claim before the lease says that it is ours.
func granted(v View) Action {
	g := v.Try.Grant
	refuse := func(o Outcome, why string) Action {
		s := v.stop(o, NoVerdict, why)
		s.To.holds(g)
		return s
	}
	switch {
	case g.Fault != "":
		return refuse(Refused, g.Fault)
	case g.Restricted && v.Terms.RefusePolicies:
		return refuse(Refused, "the session carries a network policy, and this outpost refuses those")
	case g.Platform != "" && g.Platform != "linux":
		return refuse(Refused, "the session is for another platform: "+g.Platform)
	case g.Status == StatusTerminated:
		return refuse(Completed, "the session was over when it was claimed")
	case g.Status == StatusSuspended:
		return refuse(Suspended, "the session slept when it was claimed")
	}
	l := v.to(Claimed)
	l.takes(g)
	return Save{To: l}
}

// claimed decides for a lease whose claim is ours and which has not been launched.
func claimed(v View) Action {
	switch v.Try.Kind {
	case Granted:
		return granted(v)
	case ClaimLost, ClaimUnknown:
		return End{v.ended(Lost, "the claim was lost before the launch")}
	case Unservable:
		return v.stop(Refused, NoVerdict, v.Try.Reason)
	case Unclear:
		return v.unclaimed(Wait{Until: v.Try.Until, Why: v.Try.Reason})
	}
	if v.Terms.Draining || !v.Terms.Known {
		return v.stop(Drained, NoVerdict, "the outpost is draining")
	}
	if v.renewDue() {
		return Claim{Encrypt: true}
	}
	return v.launch(v.to(Launching))
}
