package ecstest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

func TestInjectedErrorsComeBeforeOrAfterTheEffect(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	b.Inject(ecstest.Throttle("RunTask", 2))
	b.Inject(ecstest.Fault{Op: "RunTask", Code: "ServerException", Status: 500, After: true})
	b.Inject(ecstest.Fault{Op: "RunTask", Cut: true})
	var got []string
	for range 4 {
		_, err := b.sdk.RunTask(b.ctx, request("a"))
		got = append(got, fmt.Sprint(len(b.Tasks()), " ", err != nil))
	}
	if diff := cmp.Diff([]string{"0 true", "0 true", "1 true", "1 true"}, got); diff != "" {
		t.Errorf("tasks and errors (-want +got):\n%s", diff)
	}
	b.run("a")
	if n := len(b.Tasks()); n != 1 {
		t.Errorf("%d tasks after the call that went well", n)
	}
	if diff := cmp.Diff(map[string]int{"RunTask": 5}, b.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	b.Inject(ecstest.Fault{Times: -1, Code: "ServerException", Status: 500})
	for range 3 {
		if _, err := b.sdk.ListTasks(b.ctx, &ecs.ListTasksInput{Cluster: aws.String("outposts")}); code(err) != "ServerException" {
			t.Errorf("a fault without end: %v", err)
		}
	}
	b.Clear()
	b.list()
}

func TestDelayedCallTakesEffectAfterItsCallerHasGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	b.Inject(ecstest.Fault{Op: "RunTask", After: true, Delay: time.Minute})
	ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := b.sdk.RunTask(ctx, request("a")); err == nil {
		t.Error("the call was answered")
	}
	if n := len(b.Tasks()); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

func TestProviderRefusesUntilItDoesNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	b.Refuse("FARGATE", ecstest.NoCapacity)
	out, err := b.sdk.RunTask(b.ctx, request("a"))
	if err != nil || len(out.Tasks) != 0 || len(out.Failures) != 1 || *out.Failures[0].Reason != ecstest.NoCapacity {
		t.Errorf("%+v, %v", out, err)
	}
	in := request("a")
	strategy("FARGATE_SPOT")(in)
	if out, err := b.sdk.RunTask(b.ctx, in); err != nil || len(out.Tasks) != 1 {
		t.Errorf("the other provider with the token that named no task: %+v, %v", out, err)
	}
	b.Refuse("FARGATE", "")
	b.run("b")
}

func TestHeldTaskStartsWhenReleasedOrStopsWhenTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	release := b.Hold(2)
	first, second := b.run("a"), b.run("b")
	third := b.run("c")
	b.await(third, "RUNNING")
	for _, arn := range []string{first, second} {
		if got := b.describe(arn).Tasks[0]; *got.LastStatus != "PROVISIONING" {
			t.Errorf("held, and %s", *got.LastStatus)
		}
	}
	b.stop(first, "enough")
	if diff := cmp.Diff(end{"UserInitiated", "enough", -1}, ended(b.await(first, "STOPPED"))); diff != "" {
		t.Errorf("stopped while held (-want +got):\n%s", diff)
	}
	release()
	release()
	b.await(second, "RUNNING")
}

func TestImageThatIsAbsentFailsTheStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	b.FailStart(1, ecstest.ImageAbsent, "")
	arn := b.run("a")
	if diff := cmp.Diff(end{"TaskFailedToStart", ecstest.ImageAbsent, -1}, ended(b.await(arn, "STOPPED"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := b.describe(arn).Tasks[0].Containers; len(got) != 0 {
		t.Errorf("containers: %v", got)
	}
	b.await(b.run("b"), "RUNNING")
}

func TestNewTaskIsMissingAndUnlistedForAWhile(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	b.Lag(2, 1)
	arn := b.run("a")
	var seen []int
	for range 3 {
		seen = append(seen, len(b.describe(arn).Tasks))
	}
	for range 2 {
		seen = append(seen, len(b.list().TaskArns))
	}
	if diff := cmp.Diff([]int{0, 0, 1, 0, 1}, seen); diff != "" {
		t.Errorf("described thrice, listed twice (-want +got):\n%s", diff)
	}
}

// told collects events.
type told struct {
	mu   sync.Mutex
	list []string
	all  []events.TaskStateChange
	more chan struct{}
}

func (o *told) take(t *testing.T) func([]byte) {
	o.more = make(chan struct{}, 100)
	return func(text []byte) {
		e, err := events.DecodeTaskStateChange(text)
		if err != nil {
			t.Errorf("%v: %s", err, text)
		}
		o.mu.Lock()
		o.list = append(o.list, fmt.Sprint(e.Detail.Version, " ", e.Detail.LastStatus, "/", e.Detail.DesiredStatus))
		o.all = append(o.all, e)
		o.mu.Unlock()
		o.more <- struct{}{}
	}
}

func (o *told) wait(t *testing.T, n int) []string {
	t.Helper()
	for range n {
		select {
		case <-o.more:
		case <-time.After(20 * time.Second):
			t.Fatalf("told only %v", o.list)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list
}

func TestEveryStateChangeIsToldInOrder(t *testing.T) {
	t.Parallel()
	var heard told
	b := newBench(t, stub(), func(o *ecstest.Options) { o.OnEvent = heard.take(t) })
	arn := b.run("a", override("worker", "OUTPOST_SESSION_ID", "devin-1"))
	b.await(arn, "RUNNING")
	b.stop(arn, "enough")
	want := []string{"1 PROVISIONING/RUNNING", "2 PENDING/RUNNING", "3 RUNNING/RUNNING", "4 RUNNING/STOPPED", "5 DEPROVISIONING/STOPPED", "6 STOPPED/STOPPED"}
	if diff := cmp.Diff(want, heard.wait(t, 6)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	exit := int32(30)
	last := events.TaskStateChange{
		ID: heard.all[5].ID, DetailType: events.TaskDetailType, Source: events.TaskSource, Account: "123456789012", Region: "us-east-1", Time: at,
		Detail: events.Task{
			ClusterARN: "arn:aws:ecs:us-east-1:123456789012:cluster/outposts", TaskARN: arn,
			TaskDefinitionARN: "arn:aws:ecs:us-east-1:123456789012:task-definition/worker:1", Group: "family:worker", StartedBy: "devin-1",
			LastStatus: "STOPPED", DesiredStatus: "STOPPED", CapacityProvider: "FARGATE", Version: 6, CreatedAt: &at, StartedAt: &at, StoppedAt: &at,
			StopCode: "UserInitiated", StoppedReason: "enough",
			Containers: []events.Container{{Name: "worker", LastStatus: "STOPPED", ExitCode: &exit}},
			Overrides: events.Overrides{Containers: []events.ContainerOverride{{
				Name: "worker", Environment: []events.Variable{{Name: "OUTPOST_SESSION_ID", Value: "devin-1"}},
			}}},
		},
	}
	if diff := cmp.Diff(last, heard.all[5]); diff != "" {
		t.Errorf("the last (-want +got):\n%s", diff)
	}
	ids := map[string]bool{}
	for _, e := range heard.all {
		ids[e.ID] = true
	}
	if len(ids) != 6 {
		t.Errorf("six events have %d ids", len(ids))
	}
}

func TestEventsCanComeTwiceLateOrNever(t *testing.T) {
	t.Parallel()
	var heard told
	b := newBench(t, ecstest.Definition{Stub: func(context.Context, map[string]string) int { return 0 }}, func(o *ecstest.Options) { o.OnEvent = heard.take(t) })
	b.Deliver(func(e ecstest.Event) ecstest.Delivery {
		return map[string]ecstest.Delivery{
			"PROVISIONING": ecstest.Never, "PENDING": ecstest.Twice, "RUNNING": ecstest.Late, "DEPROVISIONING": ecstest.Late,
		}[e.Status]
	})
	b.run("a")
	want := []string{"2 PENDING/RUNNING", "2 PENDING/RUNNING", "5 STOPPED/STOPPED", "3 RUNNING/RUNNING", "4 DEPROVISIONING/STOPPED"}
	if diff := cmp.Diff(want, heard.wait(t, 5)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAThousandStubsLiveAndEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, ecstest.Definition{Stub: func(context.Context, map[string]string) int { return 0 }})
	var arns []string
	for i := range 1000 {
		arns = append(arns, b.run(fmt.Sprint("t", i)))
	}
	for _, arn := range arns {
		if task := b.await(arn, "STOPPED"); *task.Exit != 0 {
			t.Fatalf("%s exited %d", arn, *task.Exit)
		}
	}
}
