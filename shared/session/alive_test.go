package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// serving is a running lease whose task runs and whose entry was just read, at the given time.
func serving(at time.Duration, e session.Entry, changes ...func(*session.Lease)) session.View {
	l := with(held(session.Running), append([]func(*session.Lease){func(l *session.Lease) {
		l.ConnectedAt = after(50 * time.Second)
		claims(l, at-time.Second)
	}}, changes...)...)
	v := view(l, at)
	v.Tasks, v.Entry = tasks(at, task(l, "RUNNING")), e
	return v
}

func doubting(kind session.DoubtKind, reads int, at time.Duration) func(*session.Lease) {
	return func(l *session.Lease) { l.Doubt = session.Doubt{Kind: kind, Reads: reads, At: after(at)} }
}

func TestHealthySessionIsLeftAloneForAMinute(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	answers(t, serving(at, ours(session.StatusRunning, at)), session.Wait{Until: after(at + time.Minute), Why: "all is well"})
}

func TestRunningSessionHasItsTasksAndThenItsEntryRead(t *testing.T) {
	t.Parallel()
	v := serving(time.Minute, session.Entry{})
	v.Tasks = session.Tasks{}
	answers(t, v, session.ReadTasks{})
	v = serving(time.Minute, session.Entry{})
	answers(t, v, session.ReadEntry{})
}

func TestClaimIsRenewedWhenHalfOfItsLifeIsOverAndNotBefore(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusRunning, at), func(l *session.Lease) { claims(l, at-150*time.Second+1) })
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "all is well"})
	claims(v.Lease, at-150*time.Second)
	answers(t, v, session.Claim{})
	v.Try = renewal(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { claims(l, at) })})
	v.Try = session.Try{Kind: session.Unclear, Until: after(at + 2*time.Second), Reason: "no answer"}
	answers(t, v, session.Wait{Until: after(at + 2*time.Second), Why: "no answer"})
}

func TestClaimIsRenewedEvenWhenTheEntryCannotBeRead(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, session.Entry{Reading: session.Failing, At: after(at)})
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the queue entry cannot be read"})
	claims(v.Lease, 0)
	answers(t, v, session.Claim{})
}

func TestLiveSessionWhoseRowReadsPendingIsClaimedAgain(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	answers(t, serving(at, waiting(session.StatusRunning, at)), session.Claim{})
	answers(t, serving(at, waiting(session.StatusPending, at)), session.Claim{})
}

func TestExpiredClaimOnARunningSessionIsNoReasonForASecondWorker(t *testing.T) {
	t.Parallel()
	at := time.Hour
	v := serving(at, ours(session.StatusRunning, at), func(l *session.Lease) { claims(l, 0) })
	answers(t, v, session.Claim{})
}

func TestFirstSightOfAServedSessionIsWritten(t *testing.T) {
	t.Parallel()
	at := 2 * time.Minute
	v := serving(at, ours(session.StatusRunning, at), func(l *session.Lease) { l.ConnectedAt = time.Time{} })
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.ConnectedAt = after(at) })})
}

func TestSuspendedIsBelievedAfterThreeReadsFifteenSecondsApart(t *testing.T) {
	t.Parallel()
	read := func(at time.Duration, d session.Doubt) session.View {
		return serving(at, ours(session.StatusSuspended, at), func(l *session.Lease) { l.Doubt = d })
	}
	at := 10 * time.Minute
	once := session.Doubt{Kind: session.SeemsSuspended, Reads: 1, At: after(at)}
	twice := session.Doubt{Kind: session.SeemsSuspended, Reads: 2, At: after(at + 15*time.Second)}

	v := read(at, session.Doubt{})
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Doubt = once })})
	v = read(at+15*time.Second-1, once) // an overlapping sweep
	answers(t, v, session.Wait{Until: after(at + 15*time.Second), Why: "being watched: the session sleeps"})
	v = read(at+15*time.Second, once)
	answers(t, v, session.Save{To: next(v.Lease, at+15*time.Second, func(l *session.Lease) { l.Doubt = twice })})
	v = read(at+30*time.Second, twice)
	answers(t, v, stopping(v.Lease, at+30*time.Second, session.Suspended, session.StoppedByUs, "the session sleeps"))

	late := at + 15*time.Second + session.StaleDoubt // nobody looked for so long
	v = read(late+1, twice)
	answers(t, v, session.Save{To: next(v.Lease, late+1, func(l *session.Lease) {
		l.Doubt = session.Doubt{Kind: session.SeemsSuspended, Reads: 1, At: after(late + 1)}
	})})
}

func TestOneReadCountsOnceHoweverOftenItIsLookedAt(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at+time.Hour, ours(session.StatusSuspended, at), doubting(session.SeemsSuspended, 2, at))
	answers(t, v, session.Wait{Until: after(at + 15*time.Second), Why: "being watched: the session sleeps"})
}

func TestAnyOtherStatusTakesTheDoubtAway(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusRunning, at), doubting(session.SeemsSuspended, 2, at-20*time.Second))
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Doubt = session.Doubt{} })})
	v = serving(at, ours(session.StatusTerminated, at), doubting(session.SeemsSuspended, 2, at-20*time.Second))
	answers(t, v, session.Save{To: next(v.Lease, at, doubting(session.SeemsOver, 1, at))})
}

func TestClaimIsRenewedWhileASuspensionIsBeingWatched(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusSuspended, at), doubting(session.SeemsSuspended, 1, at), func(l *session.Lease) { claims(l, 0) })
	answers(t, v, session.Claim{})
	v.Try = renewal(at)
	if a, ok := session.Next(v).(session.Save); !ok || !a.To.ClaimedAt.Equal(after(at)) {
		t.Errorf("the renewal is not written: %#v", session.Next(v))
	}
}

func TestWorkerIsNeverStoppedOnOneRead(t *testing.T) {
	t.Parallel()
	at := 15 * time.Minute
	for _, c := range []struct {
		kind    session.DoubtKind
		apart   time.Duration
		view    func(at time.Duration) session.View
		outcome session.Outcome
		verdict session.Verdict
		why     string
	}{
		{session.SeemsOver, 3 * time.Second, func(at time.Duration) session.View { return serving(at, ours(session.StatusTerminated, at)) },
			session.Completed, session.StoppedByUs, "the session is over"},
		{session.SeemsVanished, 30 * time.Second, func(at time.Duration) session.View { return serving(at, absent(at)) },
			session.Lost, session.StoppedByUs, "the session left the queue"},
		{session.SeemsStolen, 15 * time.Second, func(at time.Duration) session.View { return serving(at, theirs(at)) },
			session.Lost, session.StoppedByUs, "somebody else holds the claim"},
		{session.SeemsMute, 15 * time.Second, func(at time.Duration) session.View {
			return serving(at, ours(session.StatusPending, at), func(l *session.Lease) { l.ConnectedAt = time.Time{} })
		}, session.Undecided, session.Failed, "the worker did not connect within 10m0s"},
		{session.SeemsGone, time.Minute, func(at time.Duration) session.View {
			v := serving(at, ours(session.StatusRunning, at))
			v.Tasks.List = nil
			return v
		}, session.Undecided, session.Failed, "ECS no longer knows the task"},
	} {
		v := c.view(at)
		answers(t, v, session.Save{To: next(v.Lease, at, doubting(c.kind, 1, at))})
		v.Lease.Doubt = session.Doubt{Kind: c.kind, Reads: 1, At: after(at)}
		answers(t, v, session.Wait{Until: after(at + c.apart), Why: "being watched: " + c.why})
		late := at + c.apart
		v = c.view(late)
		v.Lease.Doubt = session.Doubt{Kind: c.kind, Reads: 1, At: after(at)}
		answers(t, v, stopping(v.Lease, late, c.outcome, c.verdict, c.why, func(l *session.Lease) {
			if c.verdict == session.Failed {
				l.Failures, l.NotBefore = 1, after(late)
			}
			if c.kind == session.SeemsGone { // stopping need not ask again
				l.Doubt = v.Lease.Doubt
			}
		}))
	}
}

func TestRenewalThatIsRefusedIsTheFirstOfTwo(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for try, kind := range map[session.TryKind]session.DoubtKind{session.ClaimLost: session.RenewalLost, session.ClaimUnknown: session.RenewalUnknown} {
		v := serving(at, session.Entry{})
		v.Try = session.Try{Kind: try}
		answers(t, v, session.Save{To: next(v.Lease, at, doubting(kind, 1, at))})
	}
}

func TestRefusedRenewalIsSettledByAnotherRenewalSinceReadsMayLag(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at+time.Second, ours(session.StatusRunning, at+time.Second), doubting(session.RenewalLost, 1, at), func(l *session.Lease) { claims(l, 0) })
	answers(t, v, session.Wait{Until: after(at + 15*time.Second), Why: "being watched: somebody else holds the claim"})
	at += 15 * time.Second
	v = serving(at, ours(session.StatusRunning, at), doubting(session.RenewalLost, 1, at-15*time.Second))
	answers(t, v, session.Claim{})
	v.Try = session.Try{Kind: session.ClaimLost}
	answers(t, v, stopping(v.Lease, at, session.Lost, session.StoppedByUs, "somebody else holds the claim"))
	v.Try = renewal(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Doubt = session.Doubt{}; claims(l, at) })})
}

func TestGoodReadBetweenTwoBadOnesClearsTheDoubt(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for _, kind := range []session.DoubtKind{session.SeemsVanished, session.SeemsStolen, session.SeemsSuspended, session.SeemsOver} {
		v := serving(at+time.Second, ours(session.StatusRunning, at+time.Second), doubting(kind, 1, at))
		answers(t, v, session.Save{To: next(v.Lease, at+time.Second, func(l *session.Lease) { l.Doubt = session.Doubt{} })})
	}
}

func TestFailedReadOfTheTasksIsNoEvidence(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusRunning, at))
	v.Tasks = session.Tasks{Reading: session.Failing, At: after(at)}
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "all is well"})
}

func TestSessionBeyondItsAgeIsStopped(t *testing.T) {
	t.Parallel()
	at := 24 * time.Hour
	answers(t, serving(at, ours(session.StatusRunning, at)), session.Wait{Until: after(at + time.Minute), Why: "all is well"})
	at++
	for _, e := range []session.Entry{{}, ours(session.StatusRunning, at), {Reading: session.Failing}} {
		v := serving(at, e)
		answers(t, v, stopping(v.Lease, at, session.GaveUp, session.StoppedByUs, "the session reached its maximum age"))
		v.Terms = session.Terms{AcceptorID: acceptor} // also when its outpost has left the configuration
		answers(t, v, stopping(v.Lease, at, session.GaveUp, session.StoppedByUs, "the session reached its maximum age"))
	}
}

func TestTaskOfAnOutpostThatLeftTheConfigurationRunsToItsEndWithoutTheAPI(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, session.Entry{}, func(l *session.Lease) { claims(l, 0) })
	v.Terms = session.Terms{AcceptorID: acceptor}
	answers(t, v, session.Wait{Why: "the outpost has left the configuration; its task runs to its end"})
}

func TestDrainingLetsARunningSessionRun(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusRunning, at))
	v.Terms.Draining = true
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "all is well"})
}

func TestEndOfAnAttemptIsWrittenWithWhatItMeant(t *testing.T) {
	t.Parallel()
	at := 3 * time.Minute
	for name, c := range map[string]struct {
		exit   session.Exit
		change func(*session.Lease)
		trip   string
		want   func(*session.Lease)
	}{
		"clean": {exit: session.Exit{Verdict: session.CleanExit, Class: session.Retry, Reason: "exit 0"},
			want: func(l *session.Lease) { l.Verdict, l.NotBefore = session.CleanExit, after(at) }},
		"failed": {exit: session.Exit{Verdict: session.Failed, Class: session.Backoff, Reason: "too many requests"},
			want: func(l *session.Lease) {
				l.Verdict, l.Failures, l.NotBefore = session.Failed, 1, after(at+time.Minute)
			}},
		"failed for the choice's own reason": {exit: session.Exit{Verdict: session.Failed, Class: session.Terminal, Breaker: true, Reason: "no image"}, trip: "spot",
			want: func(l *session.Lease) { l.Verdict, l.Failures, l.NotBefore = session.Failed, 1, after(at) }},
		"reclaimed": {exit: session.Exit{Verdict: session.Interrupted, Class: session.Retry, Reason: "Spot"},
			change: func(l *session.Lease) { l.Failures = 2 },
			want: func(l *session.Lease) {
				l.Verdict, l.Failures, l.NotBefore = session.Interrupted, 2, after(at+15*time.Second)
			}},
		"stopped early by a stranger": {exit: session.Exit{Verdict: session.StoppedEarly, Class: session.Retry, Reason: "exit 30"},
			want: func(l *session.Lease) { l.Verdict, l.Failures, l.NotBefore = session.Failed, 1, after(at) }},
		"stopped by its deadline": {exit: session.Exit{Verdict: session.StoppedEarly, Class: session.Retry, Reason: "exit 30"},
			change: func(l *session.Lease) { l.Deadline = after(at) },
			want: func(l *session.Lease) {
				l.Verdict, l.Outcome, l.Reason = session.StoppedEarly, session.GaveUp, "the session reached its maximum age"
			}},
		"failed after ten connected minutes": {exit: session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "exit 20"},
			change: func(l *session.Lease) { l.Failures, l.ConnectedAt = 2, after(at-session.ProvenAfter) },
			want:   func(l *session.Lease) { l.Verdict, l.Failures, l.NotBefore = session.Failed, 1, after(at) }},
		"failed before ten connected minutes": {exit: session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "exit 20"},
			change: func(l *session.Lease) { l.Failures, l.ConnectedAt = 2, after(at-session.ProvenAfter+1) },
			want: func(l *session.Lease) {
				l.Verdict, l.Failures, l.NotBefore = session.Failed, 3, after(at+30*time.Second)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []session.State{session.Launching, session.Running} {
				l := held(s)
				if c.change != nil {
					c.change(l)
				}
				v := view(l, at)
				v.Tasks = tasks(at, stopped(l, c.exit))
				want := stopping(l, at, session.Undecided, session.NoVerdict, c.exit.Reason, func(l *session.Lease) { l.TaskARN = arn }, c.want)
				want.Trip = c.trip
				answers(t, v, want)
			}
		})
	}
}

func TestStoppedAbsorbsWhateverElseIsKnown(t *testing.T) {
	t.Parallel()
	at := time.Hour
	v := serving(at, ours(session.StatusRunning, at))
	v.Tasks = tasks(at, stopped(v.Lease, session.Exit{Verdict: session.CleanExit, Reason: "exit 0"}))
	for _, try := range []session.Try{{}, renewal(at), {Kind: session.ClaimLost}, {Kind: session.Unclear, Until: after(2 * time.Hour)}} {
		v.Try = try
		if a, ok := session.Next(v).(session.Save); !ok || a.To.State != session.Stopping {
			t.Errorf("after %s: %#v", try.Kind, session.Next(v))
		}
	}
}

func TestNewsOfAnotherTaskHasTheSessionsOwnRead(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := serving(at, ours(session.StatusRunning, at))
	v.Tasks = tasks(at, other("RUNNING", -1))
	v.Tasks.Partial = true
	answers(t, v, session.ReadTasks{})
	v.Lease.State = session.Launching
	answers(t, v, session.ReadTasks{})
	v = serving(at, ours(session.StatusRunning, at))
	v.Tasks.Partial = true // news of its own task is enough
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "all is well"})
}
