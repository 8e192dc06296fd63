package session

import "time"

// evidence says how many reads, how far apart, a doubt needs before it is acted on, and what it then means.
var evidence = map[DoubtKind]struct {
	reads   int
	apart   time.Duration
	outcome Outcome // Undecided: the attempt has failed
	why     string
}{
	SeemsSuspended: {3, 15 * time.Second, Suspended, "the session sleeps"},
	SeemsOver:      {2, 3 * time.Second, Completed, "the session is over"},
	SeemsVanished:  {2, 30 * time.Second, Lost, "the session left the queue"},
	SeemsStolen:    {2, 15 * time.Second, Lost, "somebody else holds the claim"},
	RenewalLost:    {2, 15 * time.Second, Lost, "somebody else holds the claim"},
	RenewalUnknown: {2, 30 * time.Second, Lost, "the session left the queue"},
	SeemsGone:      {2, 60 * time.Second, Undecided, "ECS no longer knows the task"},
	SeemsMute:      {2, 15 * time.Second, Undecided, "the worker did not connect within " + ConnectLimit.String()},
}

// doubt counts a read begun at the given time, or acts when there have been enough.
func (v View) doubt(kind DoubtKind, at time.Time) Action {
	if a, sure := v.confirmed(kind, at); !sure {
		return a
	}
	need := evidence[kind]
	if need.outcome != Undecided {
		return v.stop(need.outcome, StoppedByUs, need.why)
	}
	s := v.failed(Retry, need.why)
	if kind == SeemsGone { // stopping asks the same again
		s.To.Doubt = v.Lease.Doubt
	}
	return s
}

// confirmed says whether this read, begun at the given time, completes the evidence; if not, what to do meanwhile. A read that comes too soon after the last
// does not count.
func (v View) confirmed(kind DoubtKind, at time.Time) (Action, bool) {
	need, d := evidence[kind], v.Lease.Doubt
	if d.Kind == kind && at.Sub(d.At) < need.apart {
		return v.unlessRenewal(kind, Wait{Until: d.At.Add(need.apart), Why: "being watched: " + need.why}), false
	}
	if d.Kind != kind || at.Sub(d.At) > StaleDoubt { // nobody looked in between: what was read then says nothing of now
		d = Doubt{Kind: kind}
	}
	if d.Reads++; d.Reads >= need.reads {
		return nil, true
	}
	to := v.to(v.Lease.State)
	d.At = v.Now // the read was over by then, and the next one is to begin so much later
	to.Doubt = d
	return Save{To: to}, false
}

// refusal says whether the doubt comes from a renewal that was refused. Only another renewal settles it, since reads may lag behind what it was told.
func refusal(kind DoubtKind) bool { return kind == RenewalLost || kind == RenewalUnknown }

// unlessRenewal renews a claim that is due while a doubt that does not concern the claim is being watched.
func (v View) unlessRenewal(kind DoubtKind, w Wait) Action {
	if v.Try.Kind == Granted {
		return v.renewed()
	}
	claimInDoubt := refusal(kind) || kind == SeemsStolen || kind == SeemsVanished || kind == SeemsOver
	if !claimInDoubt && v.Terms.Known && v.Try.Kind == NotTried && v.renewDue() && v.Entry.Reading == Present && v.Entry.mine(v.Terms) {
		return Claim{}
	}
	return w
}
