package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func TestTaskThatNoLeaseNamesIsStoppedOnlyWhenItWasSeenAMinuteAgoToo(t *testing.T) {
	t.Parallel()
	for _, lease := range []*session.Lease{nil, held(session.Ended)} {
		v := view(lease, 10*time.Minute)
		v.Entry = absent(10 * time.Minute)
		watch := session.Wait{Until: after(11 * time.Minute), Why: "a task that no lease names is being watched"}
		v.Tasks = tasks(10*time.Minute, other("RUNNING", -1))
		answers(t, v, watch)
		v.Tasks = tasks(10*time.Minute, other("RUNNING", 9*time.Minute+time.Second))
		answers(t, v, watch)
		v.Tasks = tasks(10*time.Minute, other("RUNNING", 9*time.Minute))
		answers(t, v, session.StopTask{ARN: otherARN, Why: "no lease names this task"})
		v.Tasks.List[0].Desired = "STOPPED"
		answers(t, v, watch)
	}
}

func TestEndedLeaseNamesNoTask(t *testing.T) {
	t.Parallel()
	l := held(session.Ended)
	v := view(l, 10*time.Minute)
	own := task(l, "RUNNING")
	own.Orphan = t0
	v.Tasks = tasks(10*time.Minute, own)
	answers(t, v, session.StopTask{ARN: arn, Why: "no lease names this task"})
}

func TestSessionIsNotTakenWhileATaskOfItIsBeingWatched(t *testing.T) {
	t.Parallel()
	v := unheld(waiting(session.StatusPending, time.Minute))
	v.Tasks = tasks(time.Minute, other("RUNNING", -1))
	answers(t, v, session.Wait{Until: after(2 * time.Minute), Why: "a task that no lease names is being watched"})
	v.Tasks = tasks(time.Minute, other("STOPPED", -1), other("MISSING", -1))
	answers(t, v, session.Reserve{To: firstLease(time.Minute)})
}

func TestClaimThatNoLeaseNamesIsReleasedOnlyWhenItWasSeenAMinuteAgoToo(t *testing.T) {
	t.Parallel()
	v := view(nil, 10*time.Minute)
	v.Entry = ours(session.StatusPending, 10*time.Minute)
	watch := session.Wait{Until: after(11 * time.Minute), Why: "a claim that no lease names is being watched"}
	answers(t, v, watch)
	v.Entry.Orphan = after(9*time.Minute + time.Second)
	answers(t, v, watch)
	v.Entry.Orphan = after(9 * time.Minute)
	answers(t, v, session.Release{})
	v.Try = session.Try{Kind: session.Released}
	answers(t, v, session.Wait{Why: "a claim that no lease named was released"})
	v.Try = session.Try{Kind: session.Unclear, Until: after(11 * time.Minute), Reason: "no answer"}
	answers(t, v, session.Wait{Until: after(11 * time.Minute), Why: "no answer"})
}

func TestTaskOfAnotherAttemptIsStoppedWhileItsOwnGoesOn(t *testing.T) {
	t.Parallel()
	l := held(session.Running)
	v := view(l, 2*time.Minute)
	v.Entry = ours(session.StatusPending, 2*time.Minute)
	v.Tasks = tasks(2*time.Minute, task(l, "RUNNING"), other("RUNNING", time.Minute))
	answers(t, v, session.StopTask{ARN: otherARN, Why: "the lease names another attempt"})
	v.Tasks.List[1].Desired = "STOPPED"
	answers(t, v, session.Wait{Until: after(3 * time.Minute), Why: "all is well"})
}

func TestTaskOfAnotherAttemptIsStoppedBetweenTwoRoundsOfLaunching(t *testing.T) {
	t.Parallel()
	l := with(held(session.Launching), func(l *session.Lease) { l.NotBefore, l.Reason = after(10*time.Minute), "no room" })
	v := view(l, 2*time.Minute)
	v.Tasks = tasks(2*time.Minute, other("RUNNING", time.Minute))
	answers(t, v, session.StopTask{ARN: otherARN, Why: "the lease names another attempt"})
	v.Try, v.Tasks.List[0].Desired = session.Try{Kind: session.StopSent}, "STOPPED"
	answers(t, v, session.Wait{Until: after(10 * time.Minute), Why: "no room"})
}

func TestTaskOfAnotherAttemptThatCannotBeStoppedKeepsNeitherTheClaimNorTheAgeLimitFromTheirs(t *testing.T) {
	t.Parallel()
	l := held(session.Running)
	v := view(l, 3*time.Minute)
	v.Entry = ours(session.StatusRunning, 3*time.Minute)
	v.Tasks = tasks(3*time.Minute, task(l, "RUNNING"), other("RUNNING", time.Minute))
	v.Lease.ConnectedAt = after(2 * time.Minute)
	v.Try = session.Try{Kind: session.StopFailed, Reason: "access denied"}
	if _, ok := session.Next(v).(session.Claim); !ok {
		t.Errorf("the claim is due, and the answer is %#v", session.Next(v))
	}
	v.Now = l.Deadline.Add(time.Second)
	if a, ok := session.Next(v).(session.Save); !ok || a.To.Outcome != session.GaveUp {
		t.Errorf("the session is over-age, and the answer is %#v", session.Next(v))
	}
}

func TestStopThatFailedIsLeftToTheNextLook(t *testing.T) {
	t.Parallel()
	failed := session.Try{Kind: session.StopFailed, Reason: "access denied"}
	v := view(nil, 10*time.Minute)
	v.Tasks, v.Try = tasks(10*time.Minute, other("RUNNING", time.Minute)), failed
	answers(t, v, session.Wait{Until: after(11 * time.Minute), Why: "a task that no lease names is being watched"})

	l := held(session.Stopping)
	v = view(l, 2*time.Minute)
	v.Tasks, v.Try = tasks(2*time.Minute, task(l, "RUNNING")), failed
	answers(t, v, session.Wait{Until: after(3 * time.Minute), Why: "the task is stopping"})
	v.Tasks = tasks(2*time.Minute, stopped(l, session.Exit{Verdict: session.CleanExit}), other("RUNNING", time.Minute))
	answers(t, v, session.Wait{Until: after(3 * time.Minute), Why: "a task of another attempt is being watched"})

	l = held(session.Running) // and the claim is renewed all the same
	v = view(l, 4*time.Minute)
	v.Tasks, v.Try, v.Entry = tasks(4*time.Minute, task(l, "RUNNING"), other("RUNNING", time.Minute)), failed, ours(session.StatusPending, 4*time.Minute)
	answers(t, v, session.Claim{})
}

func TestStoppingWaitsForTasksOfOtherAttempts(t *testing.T) {
	t.Parallel()
	l := held(session.Stopping)
	v := view(l, 2*time.Minute)
	v.Tasks = tasks(2*time.Minute, stopped(l, session.Exit{Verdict: session.CleanExit}), other("RUNNING", -1))
	answers(t, v, session.Wait{Until: after(3 * time.Minute), Why: "a task of another attempt is being watched"})
	v.Tasks.List[1] = other("RUNNING", time.Minute)
	answers(t, v, session.StopTask{ARN: otherARN, Why: "the lease names another attempt"})
}

func TestTaskIsTheLeasesOwnByItsARNToo(t *testing.T) {
	t.Parallel()
	l := held(session.Running)
	v := view(l, 2*time.Minute)
	adopted := task(l, "RUNNING")
	adopted.AttemptID, adopted.Orphan = "", after(time.Second)
	v.Tasks, v.Entry = tasks(2*time.Minute, adopted), ours(session.StatusPending, 2*time.Minute)
	answers(t, v, session.Wait{Until: after(3 * time.Minute), Why: "all is well"})
	adopted.Exit, adopted.Status = &session.Exit{Verdict: session.CleanExit, Reason: "exit 0"}, "STOPPED"
	v.Tasks = tasks(2*time.Minute, adopted)
	answers(t, v, stopping(l, 2*time.Minute, session.Undecided, session.CleanExit, "exit 0", func(l *session.Lease) { l.NotBefore = after(2 * time.Minute) }))
}

func TestClaimIsRenewedWhileItsTaskCannotBeStopped(t *testing.T) {
	t.Parallel()
	l := with(held(session.Stopping), outcome(session.GaveUp))
	v := view(l, 4*time.Minute)
	v.Tasks, v.Entry = tasks(4*time.Minute, task(l, "RUNNING")), ours(session.StatusRunning, 4*time.Minute)
	answers(t, v, session.StopTask{ARN: arn, Why: "because"})
	v.Try = session.Try{Kind: session.StopFailed, Reason: "access denied"}
	answers(t, v, session.Claim{})
}
