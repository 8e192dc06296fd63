package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func declined(class session.Class, breaker bool) session.Try {
	return session.Try{Kind: session.Declined, Class: class, Breaker: breaker, Reason: "no room"}
}

func TestAttemptIsSentToECSUntilItsLimitAndNeverAfter(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	for _, limit := range []session.Limit{session.Own, session.Clear} {
		v := view(l, 32*time.Second-1)
		v.Limit = limit
		answers(t, v, session.RunTask{})
		v.Now = after(32 * time.Second)
		answers(t, v, session.ReadTasks{})
	}
}

func TestAttemptIsNotSentUnderALimitThatAnotherDriveWrote(t *testing.T) {
	t.Parallel()
	answers(t, view(held(session.Launching), 5*time.Second), session.Wait{Until: after(32 * time.Second), Why: "another invocation may be sending RunTask"})
}

func TestRefusalsOfEveryCallOfAnAttemptLeaveNothingThatCouldLandLate(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.Capacity = "fargate" })
	for limit, want := range map[session.Limit]time.Time{session.Clear: {}, session.Own: l.LaunchUntil} {
		v := view(l, 5*time.Second)
		v.Try, v.Tasks, v.Limit = declined(session.Backoff, false), tasks(5*time.Second), limit
		if got := session.Next(v).(session.Save).To.LaunchUntil; !got.Equal(want) {
			t.Errorf("%s: LaunchUntil is %v, want %v", limit, got, want)
		}
	}
}

func TestAcceptedTaskIsWrittenIntoTheLease(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	for _, kind := range []session.TryKind{session.Accepted, session.Conflict} {
		v := view(l, 5*time.Second)
		v.Try = session.Try{Kind: kind, ARN: arn}
		answers(t, v, session.Save{To: next(l, 5*time.Second, func(l *session.Lease) { l.TaskARN = arn })})
	}
}

func TestConflictThatNamesNoTaskFailsTheAttemptWhenTheListNamesNoneEither(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	for limit, until := range map[session.Limit]time.Time{session.Own: l.LaunchUntil, session.Clear: {}} {
		v := view(l, 5*time.Second)
		v.Try, v.Limit = session.Try{Kind: session.Conflict, Reason: "the name is taken"}, limit
		answers(t, v, session.ReadTasks{})
		v.Tasks = session.Tasks{Reading: session.Failing, At: v.Now}
		answers(t, v, session.Wait{Until: v.Now.Add(session.SettleEvery), Why: "the session's tasks cannot be listed"})
		v.Tasks = tasks(5 * time.Second)
		answers(t, v, stopping(l, 5*time.Second, session.Undecided, session.Failed, "the name is taken", func(l *session.Lease) {
			l.Failures, l.NotBefore, l.LaunchUntil = 1, v.Now, until
		}))
		v.Tasks = tasks(5*time.Second, task(l, "PENDING"))
		answers(t, v, session.Save{To: next(l, 5*time.Second, func(l *session.Lease) { l.TaskARN = arn })})
	}
}

func TestUnclearLaunchIsRepeatedUnderItsNameInTime(t *testing.T) {
	t.Parallel()
	v := view(held(session.Launching), 5*time.Second)
	v.Limit = session.Own
	v.Try = session.Try{Kind: session.Unclear, Until: after(7 * time.Second), Reason: "no answer"}
	answers(t, v, session.Wait{Until: after(7 * time.Second), Why: "no answer"})
	v.Try, v.Now = session.Try{}, after(7*time.Second)
	answers(t, v, session.RunTask{})
}

func TestTaskThatAppearedAfterACrashIsAdoptedByItsAttempt(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 10*time.Second)
	v.Tasks = tasks(10*time.Second, other("RUNNING", -1), task(l, "PENDING"))
	answers(t, v, session.Save{To: next(l, 10*time.Second, func(l *session.Lease) { l.TaskARN = arn })})
	v.Tasks = tasks(10*time.Second, task(l, "RUNNING"))
	answers(t, v, session.Save{To: next(l, 10*time.Second, func(l *session.Lease) { l.State, l.TaskARN = session.Running, arn })})
}

func TestRefusalAndATaskSeenTogetherMeanATask(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 5*time.Second)
	v.Try = declined(session.Retry, false)
	answers(t, v, session.ReadTasks{})
	v.Tasks = tasks(5*time.Second, task(l, "PROVISIONING"))
	answers(t, v, session.Save{To: next(l, 5*time.Second, func(l *session.Lease) { l.TaskARN = arn })})
	v.Tasks = session.Tasks{Reading: session.Failing, At: after(5 * time.Second)}
	answers(t, v, session.Wait{Until: after(8 * time.Second), Why: "the session's tasks cannot be listed"})
}

func TestCapacityIsTriedInOrderUnderOneName(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 5*time.Second)
	v.Try, v.Tasks = declined(session.Retry, true), tasks(5*time.Second)
	answers(t, v, session.Save{Trip: "spot", To: next(l, 5*time.Second, func(l *session.Lease) {
		l.Capacity, l.LaunchUntil, l.Reason = "fargate", after(35*time.Second), "no room"
	})})
	v.Terms.Capacity[1].Breaker = session.Opened
	if got := session.Next(v).(session.Save).To; got.Capacity != "spot" || got.NotBefore.IsZero() {
		t.Errorf("with the next breaker open the round is over: %+v", got)
	}
}

func TestRoundWithoutCapacityPausesThenBeginsAnewAndIsGivenUpWithinTheBudget(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.Capacity = "fargate" })
	v := view(l, 5*time.Second)
	v.Try, v.Tasks = declined(session.Backoff, false), tasks(5*time.Second)
	first := next(l, 5*time.Second, func(l *session.Lease) {
		l.Capacity, l.Reason, l.NotBefore = "spot", "no room", after(65*time.Second)
	})
	answers(t, v, session.Save{To: first})

	v = view(&first, 10*time.Second)
	answers(t, v, session.Wait{Until: after(65 * time.Second), Why: "no room"})
	v.Now = after(65 * time.Second)
	answers(t, v, session.Save{To: next(&first, 65*time.Second, func(l *session.Lease) {
		l.Failures, l.NotBefore, l.LaunchUntil = 1, time.Time{}, after(95*time.Second)
	})})

	l = with(l, func(l *session.Lease) { l.Failures = 2 })
	v = view(l, 5*time.Second)
	v.Try, v.Tasks, v.Limit = declined(session.Terminal, true), tasks(5*time.Second), session.Clear
	want := stopping(l, 5*time.Second, session.Undecided, session.Failed, "no room", func(l *session.Lease) {
		l.Failures, l.NotBefore, l.LaunchUntil = 3, after(5*time.Second), time.Time{}
	})
	want.Trip = "fargate"
	answers(t, v, want)
}

func TestLastRoundIsGivenUpOnlyWhenNothingOfItCanLandLate(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.Failures = 2 })
	late := 32*time.Second + session.LateLaunch
	v := view(l, 40*time.Second)
	v.Tasks = tasks(40 * time.Second)
	answers(t, v, session.Wait{Until: after(late), Why: "a launch may still take effect"})
	l.ClaimedAt, l.ClaimUntil = after(2*time.Minute), after(7*time.Minute) // renewed meanwhile
	v = view(l, late)
	v.Tasks = tasks(late)
	answers(t, v, stopping(l, late, session.Undecided, session.Failed, "it is unknown whether RunTask was accepted", func(l *session.Lease) {
		l.Failures, l.NotBefore = 3, after(late+30*time.Second)
	}))
	v.Tasks = tasks(late, task(l, "RUNNING"))
	if got := session.Next(v).(session.Save).To; got.State != session.Running {
		t.Errorf("a task that landed late is not served by: %+v", got)
	}
}

func TestLaunchOfWhichNothingIsKnownAfterItsLimitIsMadeAgainUnderItsName(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 33*time.Second)
	v.Tasks = session.Tasks{Reading: session.Failing}
	answers(t, v, session.Wait{Until: after(36 * time.Second), Why: "the session's tasks cannot be listed"})
	v.Tasks = tasks(33 * time.Second)
	answers(t, v, session.Save{To: next(l, 33*time.Second, func(l *session.Lease) {
		l.Reason, l.NotBefore = "it is unknown whether RunTask was accepted", after(33*time.Second)
	})})
}

func TestTaskThatTurnsUpAfterItsRoundWasGivenUpIsCountedOnce(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.Failures, l.NotBefore = 1, after(48*time.Second) })
	v := view(l, 40*time.Second)
	v.Tasks = tasks(40*time.Second, stopped(l, session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "it died"}))
	got := session.Next(v).(session.Save).To
	if got.State != session.Stopping || got.Failures != 2 {
		t.Errorf("one round failed before, and the task of this one died: %+v", got)
	}
}

func TestPauseGrowsWithTheFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class    session.Class
		failures int
		want     time.Duration
	}{
		{session.Retry, 1, 0}, {session.Retry, 2, 15 * time.Second}, {session.Retry, 3, 30 * time.Second}, {session.Retry, 90, 5 * time.Minute},
		{session.Backoff, 1, time.Minute}, {session.Backoff, 2, 2 * time.Minute}, {session.Backoff, 90, 10 * time.Minute},
		{session.Terminal, 1, 0}, {session.Terminal, 90, 0}, {"", 2, 15 * time.Second},
	} {
		l := with(held(session.Launching), func(l *session.Lease) { l.Capacity, l.Failures = "fargate", c.failures-1 })
		v := view(l, 5*time.Second)
		v.Terms.MaxFailures = 100
		v.Try, v.Tasks = declined(c.class, false), tasks(5*time.Second)
		if got := session.Next(v).(session.Save).To.NotBefore.Sub(v.Now); got != c.want {
			t.Errorf("%s, failure %d: %v, want %v", c.class, c.failures, got, c.want)
		}
	}
}

func TestLaunchThatCannotBeBuiltIsRefusedAndNeedNotBeWaitedFor(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 5*time.Second)
	v.Try = session.Try{Kind: session.Unservable, Reason: "too large"}
	answers(t, v, stopping(l, 5*time.Second, session.Refused, session.NoVerdict, "too large", func(l *session.Lease) { l.LaunchUntil = time.Time{} }))
}

func TestClaimIsRenewedBeforeALaunchAndItsNewTokenIsNotTaken(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.LaunchUntil = after(170 * time.Second) })
	v := view(l, 150*time.Second)
	answers(t, v, session.ReadTasks{})
	v.Tasks = tasks(150 * time.Second)
	answers(t, v, session.Claim{})
	v.Tasks = session.Tasks{Reading: session.Failing}
	answers(t, v, session.Claim{})
	v.Try = grant(150 * time.Second)
	answers(t, v, session.Save{To: next(l, 150*time.Second, func(l *session.Lease) { claims(l, 150*time.Second) })})
	v.Try = session.Try{Kind: session.ClaimLost}
	answers(t, v, stopping(l, 150*time.Second, session.Lost, session.NoVerdict, "the claim was lost during the launch"))
}

func TestLaunchOfADrainingOutpostIsGivenBackUnlessItsTaskIsKnown(t *testing.T) {
	t.Parallel()
	l := held(session.Launching)
	v := view(l, 5*time.Second)
	v.Terms.Draining = true
	answers(t, v, session.ReadTasks{})
	v.Tasks = session.Tasks{Reading: session.Failing}
	answers(t, v, session.Wait{Until: after(8 * time.Second), Why: "the session's tasks cannot be listed"})
	v.Tasks = tasks(5 * time.Second)
	answers(t, v, stopping(l, 5*time.Second, session.Drained, session.NoVerdict, "the outpost is draining"))
	v.Tasks = tasks(5*time.Second, task(l, "RUNNING"))
	answers(t, v, session.Save{To: next(l, 5*time.Second, func(l *session.Lease) { l.State, l.TaskARN = session.Running, arn })})
	l = with(l, func(l *session.Lease) { l.TaskARN = arn })
	v.Lease, v.Tasks, v.Entry = l, tasks(5*time.Second, task(l, "PENDING")), ours(session.StatusPending, 5*time.Second)
	answers(t, v, session.Wait{Until: after(65 * time.Second), Why: "all is well"})
}

func TestSlowMachineHasItsClaimRenewedAndIsGivenUpAtTheCap(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.TaskARN = arn })
	v := view(l, 12*time.Minute)
	v.Tasks, v.Entry = tasks(12*time.Minute, task(l, "PROVISIONING")), ours(session.StatusPending, 12*time.Minute)
	answers(t, v, session.Claim{})
	v.Now = after(2*time.Second + session.StartLimit)
	answers(t, v, session.Claim{})
	v.Now = v.Now.Add(1)
	answers(t, v, stopping(l, 2*time.Second+session.StartLimit+1, session.Undecided, session.Failed, "the task did not start within 20m0s", func(l *session.Lease) {
		l.Failures, l.NotBefore = 1, v.Now
	}))
}

func TestTimeToStartCountsFromTheLastRoundOfLaunching(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.TaskARN, l.LaunchUntil = arn, after(25*time.Minute) })
	v := view(l, 26*time.Minute)
	v.Tasks, v.Entry = tasks(26*time.Minute, task(l, "PROVISIONING")), ours(session.StatusPending, 26*time.Minute)
	answers(t, v, session.Claim{})
}

func TestTaskThatRunsClosesTheBreakerOfItsCapacity(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.TaskARN = arn })
	v := view(l, time.Minute)
	v.Tasks = tasks(time.Minute, task(l, "RUNNING"))
	want := session.Save{To: next(l, time.Minute, func(l *session.Lease) { l.State = session.Running })}
	answers(t, v, want)
	for _, b := range []session.Breaker{session.Opened, session.Probing} {
		v.Terms.Capacity[0].Breaker, want.Heal = b, "spot"
		answers(t, v, want)
	}
}

func TestTaskThatIsMissingRightAfterItsLaunchIsUnknownAndNotGone(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.TaskARN = arn })
	missing := task(l, "MISSING")
	v := view(l, 32*time.Second+session.LateLaunch)
	v.Tasks, v.Entry = tasks(32*time.Second+session.LateLaunch, missing), ours(session.StatusPending, 3*time.Minute)
	answers(t, v, session.Claim{})
	v.Now = v.Now.Add(1)
	answers(t, v, session.Save{To: next(l, 32*time.Second+session.LateLaunch+1, func(l *session.Lease) {
		l.Doubt = session.Doubt{Kind: session.SeemsGone, Reads: 1, At: v.Now}
	})})
}

func TestStopOfAnEarlierAttemptSaysNothingAboutThisOne(t *testing.T) {
	t.Parallel()
	first := held(session.Launching)
	l := with(first, func(l *session.Lease) { l.Attempt = 2 })
	v := view(l, 5*time.Second)
	v.Tasks = session.Tasks{Reading: session.Present, Partial: true, At: after(5 * time.Second), List: []session.Task{stopped(first, session.Exit{Verdict: session.Failed})}}
	v.Limit = session.Clear
	answers(t, v, session.RunTask{})
}
