package drive_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

func TestWaitingSessionIsReservedClaimedAndLaunchedInOneDrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	res := w.drive()
	want := []string{
		"read entry → pending pending",
		"reserve rev 1: reserved, epoch id-2",
		"claim → granted",
		"save rev 2: claimed, claim until 10:05:00",
		"save rev 3: launching, attempt 1, capacity spot, launch until 10:00:30",
		"run task on FARGATE_SPOT → accepted task-1",
		"save rev 4: task-1",
	}
	if diff := cmp.Diff(want, w.trail[:min(len(w.trail), len(want))]); diff != "" || res.Err != nil {
		t.Errorf("%v (-want +got):\n%s", res.Err, diff)
	}
	if len(w.ecs.calls) != 1 || w.slots() != 1 {
		t.Errorf("%d calls of RunTask, %d slots", len(w.ecs.calls), w.slots())
	}
	l := w.ecs.calls[0]
	if l.AttemptID != res.Lease.AttemptID() || l.Ciphertext != res.Lease.Ciphertext || l.SessionID != devin || l.OutpostID != outpost || !l.Deadline.Equal(t0.Add(24*time.Hour)) {
		t.Errorf("launched %+v", l)
	}
}

func TestLifecycleEventsTellEveryStepOnceAndNothingElse(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.pass(30 * time.Second)
	if err := w.server.SetStatus(devin, "running"); err != nil {
		t.Fatal(err)
	}
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	w.pass(time.Minute)
	if err := w.server.Terminate(devin); err != nil {
		t.Fatal(err)
	}
	res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "0"), w.Now()) })
	if !res.Ended {
		t.Fatalf("not ended: %+v", res)
	}
	end := t0.Add(90 * time.Second)
	step := func(id, from, to, outcome, reason string, attempt int, arn string, at time.Time) events.StateChange {
		return events.StateChange{Version: events.StateChangeVersion, ID: devin + "/id-2/" + id, OutpostID: outpost, SessionID: devin, From: from, To: to, Outcome: outcome,
			Reason: reason, Attempt: attempt, TaskARN: arn, At: at}
	}
	exit := w.ecs.find("task-1").Exit.Reason
	want := []events.StateChange{
		step("1", "", "reserved", "", "", 0, "", t0),
		step("2", "reserved", "claimed", "", "", 0, "", t0),
		step("3", "claimed", "launching", "", "", 1, "", t0),
		step("5", "launching", "running", "", "", 1, "task-1", t0.Add(30*time.Second)),
		step("7", "running", "stopping", "", exit, 1, "task-1", end),
		step("8", "stopping", "stopping", "completed", "the session is over", 1, "task-1", end),
		step("9", "stopping", "ended", "completed", "the session is over", 1, "task-1", end),
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndedLeaseGivesItsSlotBackAndItsSuccessorGoesOnFromItsRevision(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.pass(time.Minute)
	if err := w.server.Suspend(devin); err != nil {
		t.Fatal(err)
	}
	if res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "0"), w.Now()) }); !res.Ended || w.slots() != 0 {
		t.Fatalf("%+v, %d slots", res, w.slots())
	}
	if s := w.server.Session(devin); s.Phase != "pending" || s.Releases != 1 {
		t.Errorf("the claim is not released: %+v", s)
	}
	old := w.lease()
	if res := w.drive(); res.Lease.State != session.Ended || w.slots() != 0 {
		t.Errorf("a session that sleeps is taken: %+v", res)
	}
	if err := w.server.Resume(devin); err != nil {
		t.Fatal(err)
	}
	res := w.drive()
	if l := res.Lease; l.State != session.Launching || l.Rev <= old.Rev || l.Attempt != old.Attempt+1 || l.Epoch == old.Epoch || !l.ExpiresAt.IsZero() || l.AttemptID() == old.AttemptID() {
		t.Errorf("the resume: %+v", l)
	}
}
