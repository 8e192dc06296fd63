package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// over is a stopping lease whose task has stopped, looked at at the given time, long after the launch.
func over(at time.Duration, e session.Entry, changes ...func(*session.Lease)) session.View {
	l := with(held(session.Stopping), append([]func(*session.Lease){func(l *session.Lease) { claims(l, at-time.Second) }}, changes...)...)
	v := view(l, at)
	v.Tasks, v.Entry = tasks(at, stopped(l, session.Exit{Verdict: l.Verdict})), e
	return v
}

func failed(times int) func(*session.Lease) {
	return func(l *session.Lease) { l.Verdict, l.Failures, l.Reason = session.Failed, times, "exit 20" }
}

func outcome(o session.Outcome) func(*session.Lease) {
	return func(l *session.Lease) { l.Outcome, l.Reason = o, "because" }
}

func TestStoppingFirstReadsTheWholeListOfTasks(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, session.Entry{})
	v.Tasks.Partial = true
	answers(t, v, session.ReadTasks{})
	v.Tasks = session.Tasks{}
	answers(t, v, session.ReadTasks{})
	v.Tasks.Reading = session.Failing
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the session's tasks cannot be listed"})
}

func TestClaimIsReleasedOnlyWhenTheTaskHasStopped(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, ours(session.StatusSuspended, at), outcome(session.Suspended))
	v.Tasks = tasks(at, task(v.Lease, "RUNNING"))
	answers(t, v, session.StopTask{ARN: arn, Why: "because"})
	v.Try = session.Try{Kind: session.StopFailed}
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the task is stopping"})
	v.Try, v.Tasks.List[0].Desired = session.Try{Kind: session.StopSent}, "STOPPED"
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the task is stopping"})
	v.Try = session.Try{}
	answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the task is stopping"})
	v.Tasks.List = append(v.Tasks.List, other("RUNNING", at-time.Minute)) // which does not wait for its turn
	answers(t, v, session.StopTask{ARN: otherARN, Why: "the lease names another attempt"})
	v.Tasks = tasks(at, stopped(v.Lease, session.Exit{}))
	answers(t, v, session.Release{})
}

func TestClaimIsRenewedWhileItsTaskIsStopping(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, session.Entry{}, outcome(session.GaveUp), func(l *session.Lease) { claims(l, 0) })
	v.Tasks = tasks(at, task(v.Lease, "DEPROVISIONING"))
	v.Tasks.List[0].Desired = "STOPPED"
	answers(t, v, session.ReadEntry{})
	v.Entry = ours(session.StatusRunning, at)
	answers(t, v, session.Claim{})
	v.Try = renewal(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { claims(l, at) })})
}

func TestClaimThatStoppingLostIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for _, e := range []session.Entry{waiting(session.StatusRunning, at), theirs(at), absent(at), ours(session.StatusSuspended, at)} {
		v := over(at, e, outcome(session.GaveUp), func(l *session.Lease) { claims(l, 0) })
		v.Tasks = tasks(at, task(v.Lease, "DEPROVISIONING"))
		v.Tasks.List[0].Desired = "STOPPED"
		answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the task is stopping"})
	}
	for _, o := range []session.Outcome{session.Lost, session.Completed} {
		v := over(at, ours(session.StatusRunning, at), outcome(o), func(l *session.Lease) { claims(l, 0) })
		v.Tasks = session.Tasks{Reading: session.Failing}
		answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "the session's tasks cannot be listed"})
	}
}

func TestLaunchThatMayStillTakeEffectIsWaitedFor(t *testing.T) {
	t.Parallel()
	late := 32*time.Second + session.LateLaunch
	v := over(late-1, session.Entry{}, outcome(session.Lost), func(l *session.Lease) { l.TaskARN = "" })
	v.Tasks = tasks(late - 1)
	answers(t, v, session.Wait{Until: after(late), Why: "a launch may still take effect"})
	v.Now = after(time.Hour) // the list is older than that
	answers(t, v, session.Wait{Until: after(late), Why: "a launch may still take effect"})
	v.Tasks = tasks(late)
	answers(t, v, session.Release{})
}

func TestAttemptThatWasNeverSentNeedsNoWaiting(t *testing.T) {
	t.Parallel()
	v := over(time.Minute, session.Entry{}, outcome(session.Refused), func(l *session.Lease) { l.TaskARN, l.LaunchUntil = "", time.Time{} })
	v.Tasks = tasks(time.Minute)
	answers(t, v, session.Release{})
}

func TestStoppingTaskThatECSForgotIsBelievedGoneAfterTwoReads(t *testing.T) {
	t.Parallel()
	at := 2 * time.Hour
	v := over(at, session.Entry{}, outcome(session.Suspended))
	for _, list := range [][]session.Task{nil, {task(v.Lease, "MISSING")}} {
		v.Tasks, v.Lease.Doubt, v.Now = tasks(at, list...), session.Doubt{}, after(at)
		answers(t, v, session.Save{To: next(v.Lease, at, doubting(session.SeemsGone, 1, at))})
		v.Lease.Doubt = session.Doubt{Kind: session.SeemsGone, Reads: 1, At: after(at)}
		answers(t, v, session.Wait{Until: after(at + time.Minute), Why: "being watched: ECS no longer knows the task"})
		v.Tasks, v.Now = tasks(at+time.Minute, list...), after(at+time.Minute)
		answers(t, v, session.Release{})
	}
}

func TestRenewalWhileATaskIsBelievedGoneIsWritten(t *testing.T) {
	t.Parallel()
	at := 2 * time.Hour
	v := over(at, ours(session.StatusRunning, at), failed(1), doubting(session.SeemsGone, 1, at-time.Second), func(l *session.Lease) { claims(l, 0) })
	v.Tasks = tasks(at)
	answers(t, v, session.Claim{})
	v.Try = renewal(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { claims(l, at) })})
}

func TestEndOfAnAttemptMeansWhatTheEntrySays(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	clean := func(l *session.Lease) { l.Verdict, l.Reason = session.CleanExit, "exit 0" }
	for name, c := range map[string]struct {
		entry   session.Entry
		change  func(*session.Lease)
		outcome session.Outcome
		why     string
	}{
		"terminated":              {ours(session.StatusTerminated, at), clean, session.Completed, "the session is over"},
		"terminated, though lost": {waiting(session.StatusTerminated, at), failed(3), session.Completed, "the session is over"},
		"suspended":               {ours(session.StatusSuspended, at), clean, session.Suspended, "the session sleeps"},
		"clean and gone":          {absent(at), clean, session.Suspended, "the remote ended and the session left the queue"},
		"failed and gone":         {absent(at), failed(1), session.Lost, "the session left the queue"},
		"stolen":                  {theirs(at), failed(1), session.Lost, "somebody else holds the claim"},
		"out of attempts":         {ours(session.StatusRunning, at), failed(3), session.GaveUp, "exit 20"},
		"out of attempts, lost":   {waiting(session.StatusRunning, at), failed(3), session.GaveUp, "exit 20"},
		"claim ran out":           {waiting(session.StatusRunning, at), failed(1), session.Lost, "the claim ran out; the session waits again"},
		"too old":                 {ours(session.StatusRunning, at), func(l *session.Lease) { failed(1)(l); l.Deadline = after(at) }, session.GaveUp, "the session reached its maximum age"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := over(at, c.entry, c.change)
			answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Outcome, l.Reason = c.outcome, c.why })})
		})
	}
}

func TestEntryIsReadAfterTheEndOfAnAttempt(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	answers(t, over(at, session.Entry{}), session.ReadEntry{})
	at = time.Minute + session.ReadLimit
	wait := func(at time.Duration) session.Wait {
		return session.Wait{Until: after(at + time.Minute), Why: "the queue entry cannot be read"}
	}
	answers(t, over(at-1, session.Entry{Reading: session.Garbled}), wait(at-1))
	answers(t, over(at-1, session.Entry{Reading: session.Failing}), wait(at-1))
	answers(t, over(time.Hour, session.Entry{Reading: session.Failing}), wait(time.Hour))
}

func TestSessionWhoseEntryStaysGarbledIsGivenBackAfterItsAttempt(t *testing.T) {
	t.Parallel()
	at := time.Minute + session.ReadLimit
	v := over(at, session.Entry{Reading: session.Garbled})
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Outcome, l.Reason = session.Lost, "the queue entry cannot be read" })})
}

func TestStatusMayLagACleanExitByFifteenSeconds(t *testing.T) {
	t.Parallel()
	at := time.Minute + session.SettleFor
	v := over(at-1, ours(session.StatusRunning, at-1))
	answers(t, v, session.Wait{Until: v.Now.Add(session.SettleEvery), Why: "the session's status may lag the remote's exit"})
	v = over(at, ours(session.StatusRunning, at))
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) {
		l.Verdict, l.Reason, l.Failures, l.NotBefore = session.Failed, "the remote exited 0 while the session goes on", 1, after(at)
	})})
}

func TestDeadWorkerIsReplacedUnderAFreshClaim(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, ours(session.StatusRunning, at), failed(1), func(l *session.Lease) { l.NotBefore = after(at + time.Second) })
	answers(t, v, session.Wait{Until: after(at + time.Second), Why: "exit 20"})
	v.Lease.NotBefore = after(at)
	answers(t, v, session.Claim{Encrypt: true})
	v.Try = grant(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) {
		l.State, l.Attempt, l.TaskARN, l.Verdict, l.NotBefore, l.ConnectedAt = session.Launching, 2, "", session.NoVerdict, time.Time{}, time.Time{}
		l.LaunchUntil, l.Ciphertext = after(at+session.LaunchWindow), "sealed again"
		claims(l, at)
	})})
}

func TestReplacementKeepsTheSessionsDeadlineAndItsFailures(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, ours(session.StatusRunning, at), failed(2))
	v.Try = grant(at)
	to := session.Next(v).(session.Save).To
	if !to.Deadline.Equal(after(24*time.Hour)) || to.Failures != 2 {
		t.Errorf("%+v", to)
	}
}

func TestRelaunchThatCannotBeClaimedEnds(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for name, c := range map[string]struct {
		try     session.Try
		outcome session.Outcome
		why     string
	}{
		"lost":    {session.Try{Kind: session.ClaimLost}, session.Lost, "the claim was lost before the relaunch"},
		"unknown": {session.Try{Kind: session.ClaimUnknown}, session.Lost, "the claim was lost before the relaunch"},
		"too long": {session.Try{Kind: session.Unservable, Reason: "the token is too long"}, session.Refused,
			"the token is too long"},
		"faulty": {session.Try{Kind: session.Granted, Grant: session.Grant{Began: after(at), Fault: "the claim came without a gateway"}}, session.Refused,
			"the claim came without a gateway"},
	} {
		v := over(at, ours(session.StatusRunning, at), failed(1))
		v.Try = c.try
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Outcome, l.Reason = c.outcome, c.why })})
		})
	}
}

func TestClaimIsRenewedDuringThePauseBeforeARelaunch(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, ours(session.StatusRunning, at), failed(2), func(l *session.Lease) { l.NotBefore = after(at + time.Minute); claims(l, at-150*time.Second) })
	answers(t, v, session.Claim{})
	v.Try = renewal(at)
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { claims(l, at) })})
}

func TestDeadWorkerOfADrainingOutpostIsNotReplaced(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, ours(session.StatusRunning, at), failed(1))
	v.Terms.Draining = true
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) { l.Outcome, l.Reason = session.Drained, "the outpost is draining" })})
	v.Terms = session.Terms{AcceptorID: acceptor}
	answers(t, v, session.Save{To: next(v.Lease, at, func(l *session.Lease) {
		l.Outcome, l.Reason = session.Drained, "the outpost has left the configuration"
	})})
}

func TestReleasedClaimEndsTheLease(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	v := over(at, session.Entry{}, outcome(session.Suspended))
	v.Try = session.Try{Kind: session.Unclear, Until: after(at + time.Second), Reason: "no answer"}
	answers(t, v, session.Wait{Until: after(at + time.Second), Why: "no answer"})
	v.Try = session.Try{Kind: session.Released}
	answers(t, v, ended(v.Lease, at, session.Suspended, "because"))
	v.Try, v.Terms = session.Try{}, session.Terms{AcceptorID: acceptor} // no API to release it with
	answers(t, v, ended(v.Lease, at, session.Suspended, "because"))
}

func TestSessionThatIsGivenUpAgainAndAgainStaysAwayLonger(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for _, o := range []session.Outcome{session.GaveUp, session.Refused} {
		for before, want := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
			v := over(at, session.Entry{}, outcome(o), func(l *session.Lease) { l.GaveUps = before })
			v.Try = session.Try{Kind: session.Released}
			answers(t, v, ended(v.Lease, at, o, "because", func(l *session.Lease) { l.GaveUps, l.NotBefore = before+1, after(at+want) }))
		}
	}
}

func TestGoodEndForgetsEarlierGivingUp(t *testing.T) {
	t.Parallel()
	at := 10 * time.Minute
	for o, want := range map[session.Outcome]int{session.Completed: 0, session.Suspended: 0, session.Lost: 2, session.Drained: 2} {
		v := over(at, session.Entry{}, outcome(o), func(l *session.Lease) { l.GaveUps = 2 })
		v.Try = session.Try{Kind: session.Released}
		if got := session.Next(v).(session.End).To; got.GaveUps != want || !got.NotBefore.IsZero() {
			t.Errorf("%s: given up %d times, not before %v; want %d", o, got.GaveUps, got.NotBefore, want)
		}
	}
}

func TestAttemptIDIsOfTheSessionItsReservationAndItsAttempt(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	ids := map[string]bool{l.AttemptID(): true}
	for _, change := range []func(*session.Lease){
		func(l *session.Lease) { l.SessionID = "devin-2" }, func(l *session.Lease) { l.Epoch = "epoch-2" }, func(l *session.Lease) { l.Attempt = 2 },
		func(l *session.Lease) { l.Epoch, l.Attempt = "epoch-11", 1 }, func(l *session.Lease) { l.Epoch, l.Attempt = "epoch-1", 11 },
	} {
		id := with(l, change).AttemptID()
		if ids[id] || len(id) > 64 {
			t.Errorf("%q", id)
		}
		ids[id] = true
	}
	if moved := with(l, func(l *session.Lease) { l.Rev, l.State, l.Capacity = 99, session.Running, "fargate" }); !ids[moved.AttemptID()] {
		t.Error("the attempt's name changes with something else")
	}
}
