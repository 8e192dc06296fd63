package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func unheld(e session.Entry) session.View {
	v := view(nil, time.Minute)
	v.Entry = e
	return v
}

func firstLease(at time.Duration) session.Lease {
	return session.Lease{Schema: session.SchemaVersion, SessionID: "devin-1", OutpostID: "outpost_env-1", State: session.Reserved, Rev: 1,
		ReservedAt: after(at), StateAt: after(at), UpdatedAt: after(at)}
}

func TestSessionOfWhichNothingIsKnownHasItsEntryRead(t *testing.T) {
	t.Parallel()
	answers(t, unheld(session.Entry{}), session.ReadEntry{})
}

func TestEntryThatCannotBeReadIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	answers(t, unheld(session.Entry{Reading: session.Failing, At: after(time.Minute)}), session.Wait{Until: after(2 * time.Minute), Why: "the queue entry cannot be read"})
}

func TestWaitingSessionTakesASlotWhetherItCountsAsStartedOrNot(t *testing.T) {
	t.Parallel()
	for _, status := range []string{session.StatusPending, session.StatusRunning} {
		answers(t, unheld(waiting(status, time.Minute)), session.Reserve{To: firstLease(time.Minute)})
	}
}

func TestReleasedSuspendedSessionIsNotClaimed(t *testing.T) {
	t.Parallel()
	answers(t, unheld(waiting(session.StatusSuspended, time.Minute)), session.Wait{Why: "the session is suspended, not waiting"})
	answers(t, unheld(waiting(session.StatusTerminated, time.Minute)), session.Wait{Why: "the session is terminated, not waiting"})
	answers(t, unheld(waiting("hibernating", time.Minute)), session.Wait{Why: "the session is hibernating, not waiting"})
}

func TestSessionThatIsNotForUsIsLeftAlone(t *testing.T) {
	t.Parallel()
	mac, walled := waiting(session.StatusPending, time.Minute), waiting(session.StatusPending, time.Minute)
	mac.Platform, walled.Restricted = "macos", true
	answers(t, unheld(mac), session.Wait{Why: "for another platform: macos"})
	answers(t, unheld(walled), session.Wait{Why: "it carries a network policy, and this outpost refuses those"})
	answers(t, unheld(absent(time.Minute)), session.Wait{Why: "not in the queue"})
	answers(t, unheld(theirs(time.Minute)), session.Wait{Why: "already claimed"})
	v := unheld(walled)
	v.Terms.RefusePolicies = false
	answers(t, v, session.Reserve{To: firstLease(time.Minute)})
}

func TestEndedSessionIsReservedAgainWithItsRevisionsAndAttemptsGoingOn(t *testing.T) {
	t.Parallel()
	old := with(held(session.Ended), func(l *session.Lease) { l.Attempt, l.GaveUps = 4, 1 })
	v := view(old, time.Hour)
	v.Entry = waiting(session.StatusRunning, time.Hour)
	want := firstLease(time.Hour)
	want.Rev, want.Attempt, want.GaveUps = old.Rev+1, 4, 1
	answers(t, v, session.Reserve{To: want})
}

func TestSessionThatWasGivenUpIsNotTakenBeforeItsTime(t *testing.T) {
	t.Parallel()
	old := with(held(session.Ended), func(l *session.Lease) {
		l.Outcome, l.Reason, l.NotBefore = session.GaveUp, "the image is missing", after(7*time.Minute)
	})
	v := view(old, 7*time.Minute-time.Second)
	v.Entry = waiting(session.StatusPending, 6*time.Minute)
	answers(t, v, session.Wait{Until: after(7 * time.Minute), Why: "given back before: the image is missing"})
	v.Now = after(7 * time.Minute)
	if _, ok := session.Next(v).(session.Reserve); !ok {
		t.Errorf("after its time it is not taken: %v", session.Next(v))
	}
}

func TestDrainingOutpostTakesNoSession(t *testing.T) {
	t.Parallel()
	v := unheld(waiting(session.StatusPending, time.Minute))
	v.Terms.Draining = true
	answers(t, v, session.Wait{Why: "the outpost is draining"})
}

func TestBreakersDecideWhoIsTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second session.Breaker
		want          session.Action
	}{
		{session.Closed, session.Opened, session.Reserve{To: firstLease(time.Minute)}},
		{session.Opened, session.Closed, session.Reserve{To: firstLease(time.Minute)}},
		{session.Probing, session.Closed, session.Reserve{To: firstLease(time.Minute), Probe: "spot"}},
		{session.Opened, session.Probing, session.Reserve{To: firstLease(time.Minute), Probe: "fargate"}},
		{session.Opened, session.Opened, session.Wait{Until: after(2 * time.Minute), Why: "no capacity choice takes sessions now"}},
	} {
		v := unheld(waiting(session.StatusPending, time.Minute))
		v.Terms.Capacity[0].Breaker, v.Terms.Capacity[1].Breaker = c.first, c.second
		answers(t, v, c.want)
	}
}

func TestLeaseOfANewerVersionIsLeftAloneInEveryState(t *testing.T) {
	t.Parallel()
	for _, s := range allStates {
		l := with(held(s), func(l *session.Lease) { l.Schema = session.SchemaVersion + 1 })
		v := view(l, time.Minute)
		v.Entry, v.Tasks = waiting(session.StatusPending, time.Minute), tasks(time.Minute, other("RUNNING", 0))
		answers(t, v, session.Wait{Why: "the lease was written by a newer version"})
	}
}

func TestLeaseInAStateThatThisVersionDoesNotKnowWaits(t *testing.T) {
	t.Parallel()
	l := with(held(session.Running), func(l *session.Lease) { l.State = "hovering" })
	answers(t, view(l, time.Minute), session.Wait{Why: "the lease is in an unknown state: hovering"})
}

func TestEntryIsClaimableWhenItWaitsForAWorkerOfWhateverKind(t *testing.T) {
	t.Parallel()
	walled := waiting(session.StatusPending, 0)
	walled.Restricted, walled.Platform = true, "macos"
	for want, entries := range map[bool][]session.Entry{
		true:  {waiting(session.StatusPending, 0), waiting(session.StatusRunning, 0), walled},
		false: {{}, absent(0), ours(session.StatusPending, 0), theirs(0), waiting(session.StatusSuspended, 0), waiting(session.StatusTerminated, 0), waiting("hibernating", 0)},
	} {
		for _, e := range entries {
			if e.Claimable() != want {
				t.Errorf("%+v: %v", e, !want)
			}
		}
	}
}
