package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// ended is the history of a lease that ended at the given time.
func ended(l *session.Lease, at time.Duration, o session.Outcome, why string, changes ...func(*session.Lease)) session.End {
	to := next(l, at, func(l *session.Lease) {
		l.State, l.Outcome, l.Reason, l.Ciphertext, l.NotBefore, l.Doubt = session.Ended, o, why, "", time.Time{}, session.Doubt{}
		l.EndedAt, l.ExpiresAt = after(at), after(at+session.KeepEnded)
	})
	for _, c := range changes {
		c(&to)
	}
	return session.End{To: to}
}

// stopping is the write with which a lease goes to stopping.
func stopping(l *session.Lease, at time.Duration, o session.Outcome, verdict session.Verdict, why string, changes ...func(*session.Lease)) session.Save {
	to := next(l, at, func(l *session.Lease) {
		l.State, l.Outcome, l.Verdict, l.Reason, l.NotBefore, l.Doubt = session.Stopping, o, verdict, why, time.Time{}, session.Doubt{}
	})
	for _, c := range changes {
		c(&to)
	}
	return session.Save{To: to}
}

func claims(l *session.Lease, began time.Duration) {
	l.ClaimedAt, l.ClaimUntil = after(began), after(began+5*time.Minute)
}

func TestReservedSessionIsClaimedOnTheStrengthOfAFreshReadOnly(t *testing.T) {
	t.Parallel()
	v := view(held(session.Reserved), 31*time.Second)
	answers(t, v, session.ReadEntry{})
	v.Entry = waiting(session.StatusPending, 0)
	answers(t, v, session.ReadEntry{}) // half a minute ago
	v.Entry = waiting(session.StatusPending, time.Second)
	answers(t, v, session.Claim{Encrypt: true})
	v.Entry = session.Entry{Reading: session.Failing, At: after(31 * time.Second)}
	answers(t, v, session.Wait{Until: after(34 * time.Second), Why: "the queue entry cannot be read"})
}

func TestClaimWhoseAnswerWasLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	v := view(held(session.Reserved), time.Minute)
	v.Entry = ours(session.StatusPending, time.Minute)
	answers(t, v, session.Claim{Encrypt: true})
}

func TestReservedSessionThatCanNoLongerBeClaimedGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	for why, e := range map[string]session.Entry{
		"not in the queue":                      absent(time.Second),
		"already claimed":                       theirs(time.Second),
		"the session is suspended, not waiting": waiting(session.StatusSuspended, time.Second),
	} {
		v := view(l, time.Second)
		v.Entry = e
		answers(t, v, ended(l, time.Second, session.Lost, why))
	}
}

func TestLoserOfAClaimLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	v := view(l, time.Second)
	v.Try = session.Try{Kind: session.ClaimLost}
	answers(t, v, ended(l, time.Second, session.Lost, "another worker took the session first"))
	v.Try = session.Try{Kind: session.ClaimUnknown}
	answers(t, v, ended(l, time.Second, session.Lost, "the session left the queue before it was claimed"))
}

func TestUnclearClaimIsMadeAgainInTime(t *testing.T) {
	t.Parallel()
	for _, s := range []session.State{session.Reserved, session.Claimed} {
		v := view(held(s), 2*time.Second)
		v.Try = session.Try{Kind: session.Unclear, Until: after(4 * time.Second), Reason: "no answer"}
		answers(t, v, session.Wait{Until: after(4 * time.Second), Why: "no answer"})
	}
}

func TestSessionThatCannotBeClaimedDoesNotHoldItsSlotForEver(t *testing.T) {
	t.Parallel()
	for _, s := range []session.State{session.Reserved, session.Claimed} {
		l := held(s)
		at := l.StateAt.Sub(t0) + session.ClaimLimit
		v := view(l, at)
		v.Try = session.Try{Kind: session.Unclear, Until: after(at + 2*time.Second), Reason: "no answer"}
		answers(t, v, stopping(l, at, session.GaveUp, session.NoVerdict, "no answer"))
	}
	l := held(session.Reserved)
	v := view(l, session.ClaimLimit)
	v.Entry = session.Entry{Reading: session.Failing, At: v.Now}
	answers(t, v, stopping(l, session.ClaimLimit, session.GaveUp, session.NoVerdict, "the queue entry cannot be read"))
}

func TestSessionThatTurnsOutToBeForAnotherPlatformIsRefused(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	v := view(l, time.Second)
	v.Try = grant(time.Second)
	v.Try.Grant.Platform = "windows"
	answers(t, v, stopping(l, time.Second, session.Refused, session.NoVerdict, "the session is for another platform: windows", func(l *session.Lease) { claims(l, time.Second) }))
}

func TestClaimIsTrustedFromBeforeTheCallAndWritten(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	v := view(l, 3*time.Second)
	v.Try = grant(time.Second)
	answers(t, v, session.Save{To: next(l, 3*time.Second, func(l *session.Lease) {
		l.State, l.Ciphertext, l.GatewayURL, l.RemoteSHA = session.Claimed, "sealed again", "wss://gateway.example", "a1b2c3d4e5"
		claims(l, time.Second)
	})})
}

func TestClaimThatCannotBeServedIsReleasedWithAReason(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	for _, c := range []struct {
		change  func(*session.Grant)
		outcome session.Outcome
		why     string
	}{
		{func(g *session.Grant) { g.Fault = "the claim came without a gateway" }, session.Refused, "the claim came without a gateway"},
		{func(g *session.Grant) { g.Restricted = true }, session.Refused, "the session carries a network policy, and this outpost refuses those"},
		{func(g *session.Grant) { g.Status = session.StatusTerminated }, session.Completed, "the session was over when it was claimed"},
		{func(g *session.Grant) { g.Status = session.StatusSuspended }, session.Suspended, "the session slept when it was claimed"},
	} {
		v := view(l, 3*time.Second)
		v.Try = grant(time.Second)
		c.change(&v.Try.Grant)
		answers(t, v, stopping(l, 3*time.Second, c.outcome, session.NoVerdict, c.why, func(l *session.Lease) { claims(l, time.Second) }))
	}
}

func TestSessionWhoseTokenCannotBeEncryptedIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []session.State{session.Reserved, session.Claimed} {
		l := held(s)
		v := view(l, 3*time.Second)
		v.Try = session.Try{Kind: session.Unservable, Reason: "the token is too long"}
		answers(t, v, stopping(l, 3*time.Second, session.Refused, session.NoVerdict, "the token is too long"))
	}
}

func TestReservedSessionOfADrainingOutpostIsReleasedSinceAClaimMayHaveBeenMade(t *testing.T) {
	t.Parallel()
	l := held(session.Reserved)
	v := view(l, time.Second)
	v.Terms.Draining = true
	answers(t, v, stopping(l, time.Second, session.Drained, session.NoVerdict, "the outpost is draining"))
	v.Terms = session.Terms{AcceptorID: acceptor}
	answers(t, v, ended(l, time.Second, session.Drained, "the outpost has left the configuration"))
}

func TestClaimedSessionIsLaunched(t *testing.T) {
	t.Parallel()
	l := held(session.Claimed)
	answers(t, view(l, 3*time.Second), session.Save{To: next(l, 3*time.Second, func(l *session.Lease) {
		l.State, l.Attempt, l.Capacity = session.Launching, 1, "spot"
		l.LaunchUntil, l.Deadline = after(33*time.Second), after(24*time.Hour+3*time.Second)
	})})
}

func TestLaunchPassesOverCapacityWhoseBreakerIsOpenUnlessThereIsNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second session.Breaker
		want          string
	}{{session.Opened, session.Closed, "fargate"}, {session.Opened, session.Probing, "fargate"}, {session.Probing, session.Closed, "spot"}, {session.Opened, session.Opened, "spot"}} {
		v := view(held(session.Claimed), 3*time.Second)
		v.Terms.Capacity[0].Breaker, v.Terms.Capacity[1].Breaker = c.first, c.second
		if got := session.Next(v).(session.Save).To.Capacity; got != c.want {
			t.Errorf("%q, %q: launched in %s, want %s", c.first, c.second, got, c.want)
		}
	}
}

func TestClaimThatRanDownBeforeTheLaunchIsRenewedFirst(t *testing.T) {
	t.Parallel()
	l := held(session.Claimed)
	v := view(l, 150*time.Second)
	answers(t, v, session.Claim{Encrypt: true})
	v.Try = grant(150 * time.Second)
	answers(t, v, session.Save{To: next(l, 150*time.Second, func(l *session.Lease) {
		l.Ciphertext = "sealed again"
		claims(l, 150*time.Second)
	})})
	for _, lost := range []session.TryKind{session.ClaimLost, session.ClaimUnknown} {
		v.Try = session.Try{Kind: lost}
		answers(t, v, ended(l, 150*time.Second, session.Lost, "the claim was lost before the launch"))
	}
}

func TestClaimedSessionOfADrainingOutpostIsGivenBack(t *testing.T) {
	t.Parallel()
	l := held(session.Claimed)
	v := view(l, 3*time.Second)
	v.Terms.Draining = true
	answers(t, v, stopping(l, 3*time.Second, session.Drained, session.NoVerdict, "the outpost is draining"))
}
