package drive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

const full = "Capacity is unavailable at this time. Please try again later or in a different availability zone"

// overtaken is a world in which somebody else writes the lease while the driver's RunTask is on its way.
func overtaken(t *testing.T, change func(l *session.Lease)) (*world, drive.Result) {
	t.Helper()
	w := newWorld(t)
	w.enqueue()
	w.after = func(call string) error {
		if call == "run task" {
			w.after = nil
			l := *w.lease()
			l.Rev++
			change(&l)
			return w.store.Save(context.Background(), l)
		}
		return nil
	}
	return w, w.drive()
}

func TestTaskOfADriverThatWasOvertakenIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	w, res := overtaken(t, func(l *session.Lease) { l.Attempt++ })
	if diff := cmp.Diff([]string{"task-1"}, w.ecs.stops); diff != "" || res.Err != nil {
		t.Errorf("%v (-want +got):\n%s", res.Err, diff)
	}
	if l := w.lease(); l.Attempt != 2 || l.TaskARN != "" {
		t.Errorf("the lease goes on with %+v", l)
	}
}

func TestTaskOfADriverThatWasOvertakenGoesOnWhenTheLeaseNamesIt(t *testing.T) {
	t.Parallel()
	w, res := overtaken(t, func(l *session.Lease) { l.TaskARN = "task-1" })
	if len(w.ecs.stops) != 0 || res.Err != nil || w.lease().TaskARN != "task-1" || len(w.ecs.calls) != 1 {
		t.Errorf("stops %v, %+v", w.ecs.stops, res)
	}
}

func TestTaskWhoseARNCannotBeWrittenIsFoundByTheNextDriver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.before = func(call string) error {
		if call == "save" && w.lease().State == session.Launching {
			return errBroken
		}
		return nil
	}
	res := w.drive()
	if !errors.Is(res.Err, errBroken) || len(w.ecs.stops) != 0 || w.lease().TaskARN != "" {
		t.Fatalf("%+v", res)
	}
	w.before = nil
	for _, pass := range []time.Duration{time.Second, time.Minute} { // within the launch's limit, and after it
		w.pass(pass)
		w.drive()
	}
	if w.lease().TaskARN != "task-1" || len(w.ecs.live()) != 1 {
		t.Errorf("%+v", w.lease())
	}
}

func TestWriteWhoseAnswerWasLostIsNoLostRace(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"reserve", "save"} {
		w := newWorld(t)
		w.enqueue()
		w.after = failing(call, 1, errBroken)
		if res := w.drive(); !errors.Is(res.Err, errBroken) {
			t.Errorf("%s: %+v", call, res)
		}
		if res := w.drive(); res.Err != nil || res.Lease.TaskARN != "task-1" || w.slots() != 1 {
			t.Errorf("%s, again: %+v, %d slots", call, res, w.slots())
		}
	}
}

func TestDriverThatLosesEveryRaceGivesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.before = func(call string) error {
		if call == "save" {
			return lease.ErrLost
		}
		return nil
	}
	res := w.drive()
	if !errors.Is(res.Err, lease.ErrLost) || len(w.ecs.calls) != 0 || w.lease().State != session.Reserved {
		t.Errorf("%+v", res)
	}
	if n := len(w.trail); n > 40 {
		t.Errorf("after %d calls", n)
	}
}

func TestRacesThatAreLostNowAndThenDoNotAddUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.config.MaxFailures = 100
	for range 6 {
		w.ecs.answers = append(w.ecs.answers, full)
	}
	saves, lost := 0, 0
	w.before = func(call string) error {
		if call == "save" {
			if saves++; saves%2 == 0 && lost < 7 {
				lost++
				return lease.ErrLost
			}
		}
		return nil
	}
	res := w.drive(patience(150 * time.Second))
	if lost < 6 || res.Err != nil || res.Lease.State != session.Launching {
		t.Errorf("%d races lost: %+v\n%s", lost, res, strings.Join(w.trail, "\n"))
	}
}

func TestRunTaskIsCutOffAtItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.ecs.answers = []string{"late"}
	w.drive()
	if w.ecs.allowed <= 9*time.Second || w.ecs.allowed > 10*time.Second {
		t.Errorf("the first call may take %v", w.ecs.allowed)
	}
	w = newWorld(t)
	w.enqueue()
	w.ecs.answers = slices.Repeat([]string{"late"}, 99)
	w.drive(func(j *drive.Job) { j.Patience = 29 * time.Second })
	if n := len(w.ecs.calls); n < 10 || w.ecs.allowed <= time.Second || w.ecs.allowed > 2*time.Second {
		t.Errorf("the last of %d calls, two seconds before its limit, may take %v", n, w.ecs.allowed)
	}
}

func TestRepeatedCallIsTheSameCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.ecs.answers = []string{"lost"}
	res := w.drive(func(j *drive.Job) { j.Patience = 10 * time.Second })
	if len(w.ecs.calls) != 2 || res.Lease.TaskARN != "task-1" {
		t.Fatalf("%d calls, %+v", len(w.ecs.calls), res)
	}
	w.ecs.calls[0].Until, w.ecs.calls[1].Until = time.Time{}, time.Time{} // no part of the request
	if diff := cmp.Diff(w.ecs.calls[0], w.ecs.calls[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestSecondMessageWhileTheFirstIsWorkedOnMakesNoSecondTask(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"reserve", "claim", "run task"} {
		w := newWorld(t)
		w.enqueue()
		w.after = func(call string) error {
			if call == at {
				w.after = nil
				w.drive()
			}
			return nil
		}
		res := w.drive()
		if live := w.ecs.live(); len(live) != 1 || w.lease().TaskARN != live[0] || w.slots() != 1 || res.Err != nil {
			t.Errorf("the second during %s: live %v, %+v", at, live, res)
		}
	}
}

func TestOneOfTwoWhoBeginTheSameLaunchInTheSameMomentSendsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	second := func(do func()) func(string) error { // does something at the second write from now on, the one that begins the launch
		n := 0
		return func(call string) error {
			if call == "save" {
				if n++; n == 2 {
					do()
				}
			}
			return nil
		}
	}
	w.before = second(func() { // the other one writes the same, and stands still
		w.before = nil
		w.after = func(call string) error {
			if call == "save" {
				panic(crash{})
			}
			return nil
		}
		defer func() { _ = recover(); w.after = nil }()
		w.drive()
	})
	res := w.drive()
	if l := w.lease(); len(w.ecs.calls) != 0 || l.State != session.Launching || l.Rev != 3 || res.Err != nil {
		t.Errorf("%d calls, the lease is %+v, %+v", len(w.ecs.calls), l, res)
	}
}

func TestCapacityInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.ecs.answers = []string{full}
	res := w.drive()
	if res.Lease.Capacity != "fargate" || w.ecs.calls[1].Provider != "FARGATE" || w.ecs.calls[0].AttemptID != w.ecs.calls[1].AttemptID {
		t.Errorf("%+v", res.Lease)
	}
	for _, c := range w.outpost().Terms.Capacity {
		if c.Breaker != session.Closed {
			t.Errorf("a lack of room opens the breaker of %s", c.Name)
		}
	}
}

func TestRefusalEverywherePausesAndIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	for range 6 {
		w.ecs.answers = append(w.ecs.answers, full)
	}
	res := w.drive()
	for range 6 { // a call that was refused to us may have been accepted from somebody else: that is waited for
		if res.Ended {
			break
		}
		w.pass(time.Minute)
		res = w.drive()
	}
	if !res.Ended || res.Lease.Outcome != session.GaveUp || len(w.ecs.calls) != 6 || w.server.Session(devin).Phase != "pending" || w.slots() != 0 {
		t.Errorf("%+v after %d calls", res.Lease, len(w.ecs.calls))
	}
	if res = w.drive(); res.Lease.Active() {
		t.Errorf("it is taken again at once: %+v", res.Lease)
	}
}

func TestBreakerOpensForAFaultOfTheChoiceLongerEachTimeAndClosesWhenATaskRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Capacity = w.config.Capacity[:1]
	w.config.MaxFailures = 1
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		if i == 0 {
			w.enqueue()
		}
		w.drive()
		w.pass(10 * time.Second)
		opened := w.Now()
		arn := w.ecs.tasks[len(w.ecs.tasks)-1].ARN
		if res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit(arn, "image"), w.Now()) }); !res.Ended || res.Lease.Outcome != session.GaveUp {
			t.Fatalf("%+v", res)
		}
		b := w.outpost().Breakers["spot"]
		if b.Until.Sub(opened) != want || b.Trips != i+1 || b.Reason == "" {
			t.Errorf("trip %d: %+v, want %v", i+1, b, want)
		}
		if res := w.drive(); res.Lease.Active() {
			t.Errorf("a session is taken while the breaker is open: %+v", res.Lease)
		}
		w.pass(31 * time.Minute)
	}
	w.trail = nil
	res := w.drive()
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move(res.Lease.TaskARN, "RUNNING"), w.Now()) })
	if b, open := w.outpost().Breakers["spot"]; open {
		t.Errorf("it does not close: %+v", b)
	}
}

func TestOneSessionProbesAnOpenBreakerAndTheOthersUseWhatElseThereIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	must(t, w.store.Trip(context.Background(), outpost, "spot", lease.Breaker{Until: t0, Trips: 1, Reason: "no image"}))
	stale := w.outpost() // as another message of the same batch read it
	if res := w.drive(); res.Lease.Capacity != "spot" {
		t.Errorf("the probe: %+v", res.Lease)
	}
	w.server.Enqueue(enqueued("devin-2"))
	w.server.Enqueue(enqueued("devin-3"))
	res := w.drive(func(j *drive.Job) { j.SessionID, j.Outpost = "devin-2", stale })
	if res.Lease == nil || res.Lease.Capacity != "fargate" {
		t.Errorf("another: %+v", res.Lease)
	}
	stale.Config.MaxSessions = 9
	stale.Terms.Capacity = stale.Terms.Capacity[:1]
	res = w.drive(func(j *drive.Job) { j.SessionID, j.Outpost = "devin-3", stale })
	if res.Lease != nil || res.Wait.Why != "no capacity choice takes sessions now" || res.Err != nil {
		t.Errorf("without another choice: %+v", res)
	}
}

func TestStopThatIsDeniedIsCountedAndKeepsTheLeaseAndTheClaim(t *testing.T) {
	t.Parallel()
	w := launched(t)
	must(t, w.server.SetStatus(devin, "running"))
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	w.before = func(call string) error {
		if call == "stop task" {
			return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}
		}
		return nil
	}
	w.pass(24*time.Hour + 4*time.Minute)
	w.metrics.Reset()
	for range 3 {
		res := w.drive()
		if res.Lease.State != session.Stopping || res.Err == nil {
			t.Fatalf("%+v", res)
		}
		w.pass(time.Minute)
	}
	if n := len(w.counted()); n < 3 || w.slots() != 1 || !w.lease().ClaimUntil.After(w.now) {
		t.Errorf("metrics %v, %d slots, claim until %v, now %v", w.counted(), w.slots(), w.lease().ClaimUntil, w.now)
	}
	w.before = nil
	w.drive()
	w.ecs.exit("task-1", "told")
	if res := w.drive(); !res.Ended || res.Lease.Outcome != session.GaveUp {
		t.Errorf("%+v", res)
	}
}
