package drive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

func enqueued(id string) outpoststest.EnqueueOptions {
	return outpoststest.EnqueueOptions{SessionID: id}
}

func TestNothingIsBegunWhenTheTimeIsNearlyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	until := func(j *drive.Job) { j.Until = t0.Add(5 * time.Second) }
	w.after = func(call string) error {
		if call == "claim" {
			w.pass(6 * time.Second)
		}
		return nil
	}
	res := w.drive(until)
	want := []string{"read entry → pending pending", "reserve rev 1: reserved, epoch id-2", "claim → granted"}
	if diff := cmp.Diff(want, w.trail); diff != "" || !errors.Is(res.Err, drive.ErrOutOfTime) || res.Lease.State != session.Reserved {
		t.Errorf("%+v (-want +got):\n%s", res, diff)
	}
}

func TestWaitingIsNoWorkThatNeedsTime(t *testing.T) {
	t.Parallel()
	w := launched(t)
	must(t, w.server.SetStatus(devin, "running"))
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	healthy := session.Entry{Reading: session.Present, At: w.Now(), SessionID: devin, OutpostID: outpost, Phase: "claimed", AcceptorID: acceptor, Status: "running"}
	res := w.drive(func(j *drive.Job) {
		j.Until, j.Entry, j.Tasks = t0.Add(-time.Second), healthy, news(w.ecs.find("task-1").Task, w.Now())
	})
	if res.Err != nil || res.Wait.Why != "all is well" {
		t.Errorf("%+v", res)
	}
}

// exited is a world in which the worker has just exited 0 while the session's status still says running.
func exited(t *testing.T) *world {
	t.Helper()
	w := launched(t)
	must(t, w.server.SetStatus(devin, "running"))
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	w.ecs.exit("task-1", "0")
	w.trail = nil
	return w
}

func TestStatusThatFollowsACleanExitIsReadWithinPatience(t *testing.T) {
	t.Parallel()
	w := exited(t)
	reads := 0
	w.before = func(call string) error {
		if call == "read entry" {
			if reads++; reads == 4 {
				must(t, w.server.Suspend(devin))
			}
		}
		return nil
	}
	res := w.drive(patience(20 * time.Second))
	if !res.Ended || res.Lease.Outcome != session.Suspended || w.now.Sub(t0) != 9*time.Second {
		t.Errorf("%+v at %v", res, w.now.Sub(t0))
	}
}

func TestSleepThatIsCutShortEndsTheDriveWithoutATurn(t *testing.T) {
	t.Parallel()
	w := exited(t)
	ctx, cancel := context.WithCancel(context.Background())
	w.before = func(call string) error {
		if call == "read entry" {
			cancel()
			w.before = nil
			must(t, w.server.Suspend(devin)) // seen by nobody
			must(t, w.server.SetStatus(devin, "running"))
		}
		return nil
	}
	res := w.driver().Drive(ctx, drive.Job{SessionID: devin, Outpost: w.outpost(), Patience: time.Minute})
	if !errors.Is(res.Err, context.Canceled) || res.Lease.State != session.Stopping {
		t.Errorf("%+v", res)
	}
}

func TestPatienceIsForTheWholeDrive(t *testing.T) {
	t.Parallel()
	w := exited(t)
	res := w.drive(patience(8 * time.Second))
	if slept := w.now.Sub(t0); slept != 6*time.Second || res.Lease.State != session.Stopping || !res.Wait.Until.Equal(t0.Add(9*time.Second)) {
		t.Errorf("slept %v: %+v", slept, res)
	}
	w = exited(t)
	res = w.drive(patience(time.Minute), func(j *drive.Job) { j.Until = t0.Add(4 * time.Second) })
	if slept := w.now.Sub(t0); slept != 3*time.Second || res.Err != nil || res.Lease.State != session.Stopping {
		t.Errorf("until four seconds from now, slept %v: %+v", slept, res)
	}
}

func TestWhatWasReadBeforeASleepIsReadAgain(t *testing.T) {
	t.Parallel()
	w := exited(t)
	w.drive(patience(3 * time.Second))
	want := []string{"read tasks → task-1 STOPPED, no more", "read entry → claimed running", "sleep 3s", "read tasks → task-1 STOPPED, no more", "read entry → claimed running"}
	var reads []string
	for _, line := range w.trail {
		if line[:4] != "save" {
			reads = append(reads, line)
		}
	}
	if diff := cmp.Diff(want, reads); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaseThatCannotBeReadStopsNothingElse(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.before = failing("read lease", 1, errBroken)
	if res := w.drive(); !errors.Is(res.Err, errBroken) || res.Lease != nil || len(w.trail) != 0 {
		t.Errorf("%+v, trail %q", res, w.trail)
	}
}

func TestNewsOfATaskAbsorbsWhatTheListSays(t *testing.T) {
	t.Parallel()
	w := launched(t)
	stopped := w.ecs.exit("task-1", "20") // the list is a step behind
	w.ecs.find("task-1").Exit, w.ecs.find("task-1").Status, w.ecs.find("task-1").Desired = nil, "RUNNING", "RUNNING"
	res := w.drive(func(j *drive.Job) { j.Tasks = news(stopped, w.Now()) })
	if res.Lease.Attempt != 2 || len(w.ecs.stops) != 0 {
		t.Errorf("%+v, stops %v", res.Lease, w.ecs.stops)
	}
}

func TestRunningThatArrivesAfterStoppedChangesNothing(t *testing.T) {
	t.Parallel()
	w := launched(t)
	late := w.ecs.move("task-1", "RUNNING")
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "20"), w.Now()) })
	before := *w.lease()
	w.drive(func(j *drive.Job) { j.Tasks = news(late, w.Now()) })
	if after := *w.lease(); after.Attempt != before.Attempt || after.State != session.Launching || after.TaskARN != "task-2" {
		t.Errorf("%+v", after)
	}
}

func TestSightingOfAnOrphanSurvivesReadingTheListAnew(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.pass(5 * time.Minute)
	stray := w.ecs.tasks[0].launch
	stray.AttemptID = "another-attempt"
	w.ecs.start(stray)
	orphan := w.ecs.find("task-2").Task
	orphan.Orphan = t0
	w.drive(func(j *drive.Job) {
		j.Tasks = news(w.ecs.exit("task-1", "20"), w.Now())
		j.Tasks.List = append(j.Tasks.List, orphan)
	})
	if diff := cmp.Diff([]string{"task-2"}, w.ecs.stops); diff != "" {
		t.Errorf("(-want +got):\n%s\n%q", diff, w.trail)
	}
}

func TestStoppedInTheListAbsorbsNewsThatIsLate(t *testing.T) {
	t.Parallel()
	w := exited(t)
	w.drive() // waits for the status to follow
	late := w.ecs.find("task-1").Task
	late.Exit, late.Status, late.Desired, late.Version = nil, "RUNNING", "RUNNING", 99
	w.drive(func(j *drive.Job) { j.Tasks = news(late, w.Now()) })
	if len(w.ecs.stops) != 0 || w.lease().State != session.Stopping {
		t.Errorf("stops %v, %+v", w.ecs.stops, w.lease())
	}
}

func TestTaskThatECSListsAndDoesNotDescribeYetIsNobodysOrphan(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.tasks = append(w.ecs.tasks, &ecsTask{launch: w.ecs.tasks[0].launch, Task: session.Task{ARN: "task-new", Status: "MISSING"}})
	w.pass(time.Minute)
	if res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "20"), w.Now()) }); res.Lease.Attempt != 1 || res.Lease.State != session.Stopping {
		t.Errorf("the attempt is replaced beside a task that could be of any attempt: %+v", res)
	}
	w.ecs.tasks = w.ecs.tasks[:1]
	if res := w.drive(); res.Lease.Attempt != 2 {
		t.Errorf("when ECS does not list it any more: %+v", res)
	}
}

func TestDriveThatOnlyRetriesWaitsForNothingElse(t *testing.T) {
	t.Parallel()
	retries := func(j *drive.Job) { j.Retries, j.Patience = true, time.Minute }
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Times: 1})
	if res := w.drive(retries); res.Err != nil || res.Lease.TaskARN != "task-1" || !w.now.Equal(t0.Add(2*time.Second)) {
		t.Errorf("after a claim without an answer: %+v at %v", res, w.now)
	}
	w = exited(t)
	if res := w.drive(retries); res.Lease.State != session.Stopping || !w.now.Equal(t0) {
		t.Errorf("for a status that may lag: %+v at %v", res, w.now)
	}
}

func TestOfTheListAndTheNewsOfATaskTheNewerIsBelieved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list, news session.Task
		stops      int
	}{
		"the list is newer":      {session.Task{Status: "RUNNING", Desired: "STOPPED", Version: 3}, session.Task{Status: "RUNNING", Desired: "RUNNING", Version: 2}, 0},
		"the news is newer":      {session.Task{Status: "RUNNING", Desired: "RUNNING", Version: 2}, session.Task{Status: "RUNNING", Desired: "STOPPED", Version: 3}, 0},
		"both are of one moment": {session.Task{Status: "RUNNING", Desired: "STOPPED", Version: 3}, session.Task{Status: "RUNNING", Desired: "RUNNING", Version: 3}, 0},
		"ECS does not know it":   {session.Task{Status: "MISSING"}, session.Task{Status: "RUNNING", Desired: "RUNNING", Version: 0}, 1},
	} {
		w := launched(t)
		w.pass(25 * time.Hour)
		w.drive()
		if l := w.lease(); l.State != session.Stopping || len(w.ecs.stops) != 1 {
			t.Fatalf("%+v", l)
		}
		w.ecs.stops = nil
		c.list.ARN, c.news.ARN, c.news.AttemptID = "task-1", "task-1", w.lease().AttemptID()
		w.ecs.tasks[0].Task = c.list
		w.drive(func(j *drive.Job) { j.Tasks = news(c.news, w.Now()) })
		if len(w.ecs.stops) != c.stops || w.lease().State != session.Stopping {
			t.Errorf("%s: stops %v, %q", name, w.ecs.stops, w.trail)
		}
	}
}
