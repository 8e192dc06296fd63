package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

func TestEventAndDescriptionOfATaskAgree(t *testing.T) {
	t.Parallel()
	for family, end := range map[string]ecstest.Death{"quick": {}, "worker": ecstest.OutOfMemory} {
		last := make(chan tasks.Seen, 1)
		var b *bench
		ready := make(chan struct{})
		b = newBench(t, func(o *ecstest.Options) {
			o.OnEvent = func(text []byte) {
				<-ready
				e, err := events.DecodeTaskStateChange(text)
				if err != nil {
					t.Error(err)
				}
				if seen, ours := b.FromEvent(e); ours && seen.Task.Exit != nil {
					last <- seen
				}
			}
		})
		close(ready)
		l := launch()
		l.TaskDefinition = family
		arn := b.run(l)
		if family == "worker" {
			b.await(arn, "RUNNING")
			if err := b.ecs.Kill(arn, end); err != nil {
				t.Fatal(err)
			}
		}
		b.await(arn, "STOPPED")
		described, err := b.Describe(b.ctx, []string{arn})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case told := <-last:
			if diff := cmp.Diff(described, []tasks.Seen{told}); diff != "" {
				t.Errorf("%s (-described +told):\n%s", family, diff)
			}
		case <-b.ctx.Done():
			t.Fatal("no event of the end")
		}
	}
}

func TestTasksOfASessionAreThoseOfNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.run(of("devin-1", "a1")), b.run(of("devin-1", "a2"))
	b.run(of("devin-2", "b1"))
	hostile := b.run(of("devin-../../etc", "c1"))
	left := of("devin-1", "a3") // its family has left the configuration since
	left.TaskDefinition = "neighbour"
	third := b.run(left)
	// A task of another session that bears this one's startedBy, as a collision of hashes would have it.
	collision, err := tasks.RunTaskInput(of("devin-3", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	collision.StartedBy = aws.String(tasks.StartedBy("devin-../../etc"))
	if _, err := b.ecs.Client().RunTask(b.ctx, collision); err != nil {
		t.Fatal(err)
	}
	b.await(first, "RUNNING")
	if err := b.Stop(b.ctx, first, "enough"); err != nil {
		t.Fatal(err)
	}
	b.await(first, "STOPPED")
	for sessionID, want := range map[string][]string{
		"devin-1": {first + " a1", second + " a2", third + " a3"}, "devin-../../etc": {hostile + " c1"}, "devin-9": nil,
	} {
		list, err := b.OfSession(b.ctx, sessionID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, task := range list {
			got = append(got, task.ARN+" "+task.AttemptID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sessionID, diff)
		}
	}
}

func TestNewTaskIsMissingNotGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ecs.Hold(1)
	b.ecs.Lag(2, 0)
	arn := b.run(launch())
	var got []string
	for range 3 {
		list, err := b.OfSession(b.ctx, "devin-1")
		if err != nil || len(list) != 1 || list[0].ARN != arn {
			t.Fatalf("%+v, %v", list, err)
		}
		got = append(got, list[0].Status+" "+list[0].AttemptID)
	}
	if diff := cmp.Diff([]string{"MISSING ", "MISSING ", "PROVISIONING " + launch().AttemptID}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllAreTheTasksOfOurFamilies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gpu := of("devin-2", "b1")
	gpu.TaskDefinition, gpu.Provider, gpu.Subnets = "gpu:2", "hosts", nil
	quick, neighbour := of("devin-3", "c1"), of("devin-4", "d1")
	quick.TaskDefinition, neighbour.TaskDefinition = "quick", "neighbour"
	one, two, three := b.run(of("devin-1", "a1")), b.run(gpu), b.run(quick)
	b.run(neighbour)
	b.await(one, "RUNNING")
	b.await(two, "RUNNING")
	b.await(three, "STOPPED")
	want := []tasks.Seen{
		{"devin-1", "outpost_env-1", "worker", session.Task{ARN: one, AttemptID: "a1", Status: "RUNNING", Desired: "RUNNING", Version: 3, CreatedAt: began}},
		{"devin-2", "outpost_env-1", "gpu", session.Task{ARN: two, AttemptID: "b1", Status: "RUNNING", Desired: "RUNNING", Version: 3, CreatedAt: began}},
		{"devin-3", "outpost_env-1", "quick", session.Task{ARN: three, AttemptID: "c1", Status: "STOPPED", Desired: "STOPPED", Version: 5, CreatedAt: began,
			Exit: &session.Exit{Verdict: session.CleanExit, Class: session.Retry, Reason: "the remote exited 0: EssentialContainerExited: Essential container in task exited"}}},
	}
	got, err := b.All(b.ctx)
	slices.SortFunc(got, func(a, b tasks.Seen) int { return strings.Compare(a.SessionID, b.SessionID) })
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if b.calls("ListTasks") != 2 || b.calls("DescribeTasks") != 1 {
		t.Errorf("calls: %v", b.ecs.Calls())
	}
}

func TestAllOfNothingIsTwoCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got, err := b.All(b.ctx)
	if diff := cmp.Diff(map[string]int{"ListTasks": 2}, b.ecs.Calls()); diff != "" || len(got) != 0 || err != nil {
		t.Errorf("%v, %v (-want +got):\n%s", got, err, diff)
	}
}

func TestTwoHundredAndFiftyTasksAreDescribedInThreeCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var want []string
	for i := range 250 {
		want = append(want, b.run(of(fmt.Sprint("devin-", i), fmt.Sprint("a", i))))
	}
	seen, err := b.Describe(b.ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range seen {
		got = append(got, s.Task.ARN)
	}
	if diff := cmp.Diff(want, got); diff != "" || b.calls("DescribeTasks") != 3 {
		t.Errorf("%d calls (-want +got):\n%s", b.calls("DescribeTasks"), diff)
	}
	all, err := b.All(b.ctx)
	if err != nil || len(all) != 250 || b.calls("DescribeTasks") != 6 || b.calls("ListTasks") != 4 {
		t.Errorf("all: %d, %v, calls %v", len(all), err, b.ecs.Calls())
	}
}

func TestDescribeMarksWhatECSDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	arn := "arn:aws:ecs:us-east-1:123456789012:task/outposts/0123"
	got, err := b.Describe(b.ctx, []string{arn})
	if diff := cmp.Diff([]tasks.Seen{{Task: session.Task{ARN: arn, Status: "MISSING"}}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := b.Describe(b.ctx, nil); len(got) != 0 || err != nil || b.calls("DescribeTasks") != 1 {
		t.Errorf("nothing: %v, %v, %d calls", got, err, b.calls("DescribeTasks"))
	}
}

func TestFailedReadIsAnErrorNotAnEmptyList(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ListTasks", "DescribeTasks"} {
		b := newBench(t)
		b.run(launch())
		b.ecs.Inject(ecstest.Fault{Op: op, Times: -1, Code: "AccessDeniedException", Message: "not you"})
		if list, err := b.OfSession(b.ctx, "devin-1"); err == nil || list != nil || !strings.Contains(err.Error(), "devin-1") {
			t.Errorf("%s: session: %v, %v", op, list, err)
		}
		if list, err := b.All(b.ctx); err == nil || list != nil {
			t.Errorf("%s: all: %v, %v", op, list, err)
		}
	}
}
