package session_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func TestEveryViewHasAnAnswerThatKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	for _, l := range leases() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			views := 0
			broken := map[string]int{}
			product(l, func(p point, v session.View) {
				views++
				a, wrongs := safely(v)
				if wrongs == nil {
					wrongs = wrong(v, a)
				}
				for _, w := range wrongs {
					if broken[w]++; broken[w] == 1 {
						t.Errorf("%s\n\tat %+v\n\tanswered %T %+v", w, p, a, a)
					}
				}
			})
			for rule, n := range broken {
				t.Errorf("%6d × %s", n, rule)
			}
			if views < 50000 {
				t.Errorf("only %d views", views)
			}
		})
	}
}

func safely(v session.View) (a session.Action, panicked []string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = []string{fmt.Sprint("Next panics: ", p)}
		}
	}()
	return session.Next(v), nil
}

// wrong says which invariants an answer breaks.
func wrong(v session.View, a session.Action) (wrongs []string) {
	must := func(holds bool, rule string) {
		if !holds {
			wrongs = append(wrongs, rule)
		}
	}
	l := v.Lease
	if l != nil && (l.Schema > session.SchemaVersion || l.State == "hovering") {
		_, idle := a.(session.Wait)
		must(idle, "what this version cannot read is left alone")
		return wrongs
	}
	switch a := a.(type) {
	case session.Wait:
		must(a.Until.IsZero() || a.Until.After(v.Now), "a wait ends in the future")
		must(a.Why != "", "a wait says why")
	case session.ReadEntry:
		must(v.Entry.Reading != session.Failing, "a read that failed is not repeated at once")
	case session.ReadTasks:
		must(v.Tasks.Reading == session.Unread || v.Tasks.Partial, "a list that was read is not read again at once")
	case session.Reserve:
		must(!l.Active(), "a session that holds a slot takes no other")
		must(v.Entry.Claimable() && v.Entry.Unclaimable(v.Terms) == "", "only a waiting session is taken")
		must(!v.Terms.Draining && v.Terms.Known, "a draining outpost takes none")
		must(l == nil || !v.Now.Before(l.NotBefore), "no session is taken before its time")
		must(!hasLive(v), "no session is taken while a task of it lives")
		bare := session.Lease{Schema: session.SchemaVersion, SessionID: a.To.SessionID, OutpostID: a.To.OutpostID, State: session.Reserved, Rev: a.To.Rev, Attempt: a.To.Attempt,
			GaveUps: a.To.GaveUps, ReservedAt: v.Now, StateAt: v.Now, UpdatedAt: v.Now}
		must(a.To == bare, "a reservation carries nothing over but the counts")
		must(l == nil && a.To.Rev == 1 || l != nil && a.To.Rev == l.Rev+1 && a.To.Attempt >= l.Attempt, "revisions and attempts only rise")
	case session.Claim:
		claimRules(v, a, must)
	case session.Save:
		writeRules(v, a.To, must)
		must(a.To.Active() && a.To.ExpiresAt.IsZero() && a.To.EndedAt.IsZero(), "an active lease has no end")
		must(a.To != *l, "a write changes something")
		stopRules(v, a, must)
	case session.RunTask:
		must(l.State == session.Launching && l.TaskARN == "" && l.NotBefore.IsZero(), "only a launching lease without a task launches")
		must(v.Now.Before(l.LaunchUntil), "no launch after its limit")
		must(v.Limit != session.Foreign, "no launch under another drive's limit")
		must(v.Now.Before(l.ClaimUntil), "no launch without a claim that has time left")
		must(v.Terms.Known && !v.Terms.Draining, "no launch for a draining outpost")
		must(!slices.ContainsFunc(v.Tasks.List, func(t session.Task) bool { return named1(l, t) && t.Status != "MISSING" }), "no launch of an attempt that has a task")
	case session.StopTask:
		i := slices.IndexFunc(v.Tasks.List, func(t session.Task) bool { return t.ARN == a.ARN })
		must(i >= 0, "only a task that was found is stopped")
		task := v.Tasks.List[i]
		must(task.Live() && task.Desired != "STOPPED", "a task is told to stop once")
		must(v.Try.Kind != session.StopFailed, "a stop that failed is not repeated at once")
		if l.Active() && named1(l, task) {
			must(l.State == session.Stopping, "an own task is stopped in stopping only")
		} else {
			must(!task.Orphan.IsZero() && v.Now.Sub(task.Orphan) >= session.OrphanAfter, "an orphan is stopped when two sweeps saw it")
		}
	case session.Release:
		if !l.Active() {
			must(!v.Entry.Orphan.IsZero() && v.Now.Sub(v.Entry.Orphan) >= session.OrphanAfter && v.Entry.AcceptorID == acceptor, "an orphan claim is released when two sweeps saw it")
			break
		}
		must(l.State == session.Stopping && l.Outcome != session.Undecided, "a claim is released by stopping, with an outcome")
		must(v.Terms.Known, "no call without an API")
		deadRules(v, must)
	case session.End:
		writeRules(v, a.To, must)
		must(l.State == session.Reserved || l.State == session.Claimed || l.State == session.Stopping, "a lease that may have a task ends through stopping")
		must(a.To.State == session.Ended && a.To.Outcome != session.Undecided && a.To.Reason != "", "an end says how")
		must(a.To.EndedAt.Equal(v.Now) && a.To.ExpiresAt.Equal(v.Now.Add(session.KeepEnded)) && a.To.Ciphertext == "", "history keeps no token and goes in time")
		must(a.To.NotBefore.IsZero() == (a.To.Outcome != session.GaveUp && a.To.Outcome != session.Refused), "who was given up or refused stays away for a while")
		if l.State == session.Stopping {
			must(v.Try.Kind == session.Released || !v.Terms.Known, "a claim is released before its lease ends")
			must(a.To.Outcome == l.Outcome, "the outcome was written before")
			deadRules(v, must)
		}
	default:
		must(false, "the action is not one of the closed set")
	}
	return wrongs
}

func named1(l *session.Lease, t session.Task) bool {
	return t.AttemptID == l.AttemptID() || t.ARN == l.TaskARN
}

func hasLive(v session.View) bool { return slices.ContainsFunc(v.Tasks.List, session.Task.Live) }

// deadRules: nothing of the session lives any more or may come to live.
func deadRules(v session.View, must func(bool, string)) {
	l := v.Lease
	must(v.Tasks.Reading == session.Present && !v.Tasks.Partial, "nothing is given back before the tasks were listed")
	must(!hasLive(v), "nothing is given back while a task lives")
	gone := slices.ContainsFunc(v.Tasks.List, func(t session.Task) bool { return named1(l, t) && t.Exit != nil })
	must(gone || l.LaunchUntil.IsZero() || !v.Tasks.At.Before(l.LaunchUntil.Add(session.LateLaunch)), "nothing is given back while a launch may still take effect")
	must(gone || l.TaskARN == "" || l.LaunchUntil.IsZero() || l.Doubt.Kind == session.SeemsGone, "a task that ECS forgot is believed gone after two reads")
}

func claimRules(v session.View, a session.Claim, must func(bool, string)) {
	l, e := v.Lease, v.Entry
	must(l.Active(), "only a lease claims")
	must(v.Terms.Known, "no call without an API")
	must(v.Try.Kind != session.Unclear && v.Try.Kind != session.Granted, "a claim is not repeated at once")
	untasked := l.State == session.Claimed || l.State == session.Launching && l.TaskARN == "" // whose claim stands on the lease, not on a read
	must(e.Reading != session.Present || e.Phase != session.PhasePending || e.Claimable() || untasked || e.Status == "hibernating" && l.State != session.Reserved,
		"a released session that sleeps or is over is never claimed")
	must(e.Reading != session.Present || e.Phase != session.PhaseClaimed || e.AcceptorID == acceptor || untasked, "somebody else's claim is not touched")
	switch l.State {
	case session.Reserved:
		must(e.Reading == session.Present && v.Now.Sub(e.At) <= session.Fresh, "a first claim rests on a fresh read")
	case session.Stopping:
		must(e.Reading == session.Present && e.Phase == session.PhaseClaimed, "stopping never makes a claim that it does not hold")
	}
	encrypts := l.State == session.Reserved || l.State == session.Claimed || l.State == session.Stopping && l.Outcome == session.Undecided
	must(!a.Encrypt || encrypts, "a token is encrypted only for a launch to come")
}

// writeRules hold for every write of a lease that exists.
func writeRules(v session.View, to session.Lease, must func(bool, string)) {
	l := v.Lease
	must(l.Active(), "only an active lease is written")
	must(to.Rev == l.Rev+1, "the revision rises by one")
	must(to.Epoch == l.Epoch && to.SessionID == l.SessionID && to.OutpostID == l.OutpostID && to.ReservedAt.Equal(l.ReservedAt), "a lease stays the one it is")
	must(to.Schema == session.SchemaVersion && to.UpdatedAt.Equal(v.Now), "a write is of this version and of now")
	must(to.StateAt.Equal(v.Now) || to.State == l.State && to.StateAt.Equal(l.StateAt), "a state's time is when it was entered")
	relaunched := to.State == session.Launching && l.State != session.Launching
	must(to.Attempt == l.Attempt && !relaunched || to.Attempt == l.Attempt+1 && relaunched, "an attempt is counted when it is launched")
	must(!relaunched || to.LaunchUntil.Equal(v.Now.Add(session.LaunchWindow)) && to.TaskARN == "" && to.Verdict == session.NoVerdict && to.Ciphertext != "" && to.Capacity != "",
		"a launch begins with a limit, a token, a choice and nothing of the one before")
	must(to.State != session.Running || to.TaskARN != "", "a running lease names its task")
	must(to.State == session.Reserved || to.State == session.Ended || to.State == session.Stopping || to.Ciphertext != "", "a lease with a claim has its token")
	must(l.State != session.Stopping || to.ClaimUntil.Equal(l.ClaimUntil) || v.Try.Kind == session.Granted, "a claim's life is what was granted")
	must(to.Outcome == session.Undecided || to.State == session.Stopping || to.State == session.Ended, "only an end has an outcome")
	must(l.Outcome == session.Undecided || to.Outcome == l.Outcome, "an outcome once written stays")
}

// stopRules: no worker is stopped on the evidence of one read.
func stopRules(v session.View, a session.Save, must func(bool, string)) {
	l := v.Lease
	if a.To.State != session.Stopping || l.State == session.Stopping {
		must(a.Trip == "" || l.State == session.Launching, "a breaker opens for a failed launch or task")
		return
	}
	exited := slices.ContainsFunc(v.Tasks.List, func(t session.Task) bool { return named1(l, t) && t.Exit != nil })
	old := !l.Deadline.IsZero() && v.Now.After(l.Deadline)
	slow := l.State == session.Launching && v.Now.Sub(l.StateAt) > session.StartLimit
	if l.TaskARN != "" && l.State != session.Claimed && l.State != session.Reserved {
		must(exited || old || slow || l.Doubt.Reads >= 1, "no worker is stopped on the evidence of one read")
	}
	must(a.Trip == "" || a.Trip == l.Capacity, "the breaker that opens is the attempt's own")
}
