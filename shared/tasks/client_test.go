package tasks_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

var began = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

// bench is the client, with the real SDK, against a local ECS that runs stubs: they end when told to.
type bench struct {
	*tasks.Client
	ecs *ecstest.Server
	ctx context.Context
	t   *testing.T
}

func newBench(t *testing.T, how ...func(*ecstest.Options)) *bench {
	t.Helper()
	stub := func(ctx context.Context, _ map[string]string) int { <-ctx.Done(); return 30 }
	o := ecstest.Options{Now: func() time.Time { return began }, Definitions: map[string]ecstest.Definition{
		"worker": {Stub: stub}, "gpu": {Stub: stub, Bridge: true}, "neighbour": {Stub: stub},
		"quick": {Stub: func(context.Context, map[string]string) int { return 0 }},
	}, Providers: []string{"FARGATE", "FARGATE_SPOT", "hosts"}}
	for _, change := range how {
		change(&o)
	}
	s, err := ecstest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return &bench{Client: tasks.New(s.Client(), "outposts", "worker:7", "gpu", "arn:aws:ecs:us-east-1:123456789012:task-definition/quick:1"), ecs: s, ctx: ctx, t: t}
}

func (b *bench) run(l tasks.Launch) string {
	b.t.Helper()
	try := b.Run(b.ctx, l)
	if try.Kind != session.Accepted {
		b.t.Fatalf("RunTask: %+v", try)
	}
	return try.ARN
}

func (b *bench) await(arn, status string) {
	b.t.Helper()
	if _, err := b.ecs.Await(b.ctx, arn, status); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) calls(op string) int { return b.ecs.Calls()[op] }

func of(sessionID, attempt string) tasks.Launch {
	l := launch()
	l.SessionID, l.AttemptID = sessionID, attempt
	return l
}

func TestTriesAreWhatECSAnswered(t *testing.T) {
	t.Parallel()
	always := func(f ecstest.Fault) func(*ecstest.Server) {
		f.Op, f.Times = "RunTask", -1
		return func(s *ecstest.Server) { s.Inject(f) }
	}
	for name, tc := range map[string]struct {
		spoil  func(*ecstest.Server)
		change func(*tasks.Launch)
		want   session.Try
		calls  int
	}{
		"no capacity": {spoil: func(s *ecstest.Server) { s.Refuse("FARGATE_SPOT", ecstest.NoCapacity) }, calls: 1,
			want: session.Try{Kind: session.Declined, Class: session.Retry, Reason: ecstest.NoCapacity}},
		"quota": {spoil: func(s *ecstest.Server) {
			s.Refuse("FARGATE_SPOT", "You’ve reached the limit on the number of vCPUs you can run concurrently")
		}, calls: 1,
			want: session.Try{Kind: session.Declined, Class: session.Backoff, Breaker: true, Reason: "You’ve reached the limit on the number of vCPUs you can run concurrently"}},
		"denied": {spoil: always(ecstest.Fault{Code: "AccessDeniedException", Message: "not you"}), calls: 1,
			want: session.Try{Kind: session.Declined, Class: session.Terminal, Breaker: true, Reason: "AccessDeniedException: not you"}},
		"unknown definition": {change: func(l *tasks.Launch) { l.TaskDefinition = "nothing" }, calls: 1,
			want: session.Try{Kind: session.Declined, Class: session.Terminal, Breaker: true, Reason: "ClientException: TaskDefinition not found."}},
		"server's fault": {spoil: always(ecstest.Fault{Code: "ServerException", Status: 500, Message: "oh"}), calls: 1,
			want: session.Try{Kind: session.Unclear, Class: session.Retry, Reason: "ServerException: oh"}},
		"throttled for long": {spoil: always(ecstest.Throttle("RunTask", -1)), calls: 5,
			want: session.Try{Kind: session.Declined, Class: session.Retry, Reason: "ThrottlingException: Rate exceeded"}},
		"too large": {change: func(l *tasks.Launch) { *l = filled(8193) }, calls: 0,
			want: session.Try{Kind: session.Unservable, Class: session.Terminal, Reason: "launch session devin-1: the launch is too large for RunTask: " +
				"its overrides have 8193 characters, ECS takes 8192; the connect token or the gateway URL is too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, l := newBench(t), launch()
			if tc.spoil != nil {
				tc.spoil(b.ecs)
			}
			if tc.change != nil {
				tc.change(&l)
			}
			if diff := cmp.Diff(tc.want, b.Run(b.ctx, l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := b.calls("RunTask"); got != tc.calls || len(b.ecs.Tasks()) != 0 {
				t.Errorf("%d calls, %d tasks; want %d, 0", got, len(b.ecs.Tasks()), tc.calls)
			}
		})
	}
}

func TestLargestOverridesThatWeSendAreTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(filled(8192))
}

func TestRepeatedLaunchIsTheSameTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.run(launch())
	if again := b.run(launch()); again != first || len(b.ecs.Tasks()) != 1 {
		t.Errorf("%s and %s", first, again)
	}
	changed := launch()
	changed.Ciphertext = "b3RoZXI="
	want := session.Try{Kind: session.Conflict, ARN: first, Reason: "the attempt's name was used with other parameters"}
	if diff := cmp.Diff(want, b.Run(b.ctx, changed)); diff != "" {
		t.Errorf("with another ciphertext (-want +got):\n%s", diff)
	}
}

func TestThrottledLaunchIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ecs.Inject(ecstest.Throttle("RunTask", 2))
	b.run(launch())
	if got := b.calls("RunTask"); got != 3 {
		t.Errorf("%d calls", got)
	}
}

func TestUnclearLaunchIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]ecstest.Fault{
		"5xx after the effect": {Op: "RunTask", After: true, Code: "ServerException", Status: 500},
		"connection cut":       {Op: "RunTask", After: true, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.ecs.Inject(f)
			try := b.Run(b.ctx, launch())
			if try.Kind != session.Unclear || try.Class != session.Retry || try.Reason == "" || b.calls("RunTask") != 1 {
				t.Errorf("%+v after %d calls", try, b.calls("RunTask"))
			}
			if list, err := b.OfSession(b.ctx, "devin-1"); err != nil || len(list) != 1 || list[0].AttemptID != launch().AttemptID {
				t.Errorf("the task that came of it: %+v, %v", list, err)
			}
		})
	}
}

func TestRefusalAndATaskCanComeTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ecs.Inject(ecstest.Fault{Op: "RunTask", After: true, Failure: ecstest.NoCPU})
	if diff := cmp.Diff(session.Try{Kind: session.Declined, Class: session.Retry, Reason: "RESOURCE:CPU"}, b.Run(b.ctx, launch())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list, err := b.OfSession(b.ctx, "devin-1")
	if err != nil || len(list) != 1 || list[0].AttemptID != launch().AttemptID {
		t.Errorf("the task that came all the same: %+v, %v", list, err)
	}
}

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

func TestNothingIsSentAfterTheLaunchsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	over, cancel := context.WithDeadline(b.ctx, time.Now().Add(-time.Second))
	defer cancel()
	want := session.Try{Kind: session.Declined, Class: session.Retry, Reason: "the time to launch was over before RunTask was sent"}
	if diff := cmp.Diff(want, b.Run(over, launch())); diff != "" || b.calls("RunTask") != 0 {
		t.Errorf("%d calls (-want +got):\n%s", b.calls("RunTask"), diff)
	}

	short, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	b.ecs.Inject(ecstest.Fault{Op: "RunTask", Delay: time.Minute})
	if try := b.Run(short, launch()); try.Kind != session.Unclear || b.calls("RunTask") != 1 {
		t.Errorf("%+v after %d calls", try, b.calls("RunTask"))
	}
}

func TestLaunchThatNeverConnectsIsDeclined(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	listener.Close()
	b := newBench(t)
	c := tasks.New(b.ecs.Client(func(o *ecs.Options) { o.BaseEndpoint = aws.String("http://" + nobody) }), "outposts", "worker")
	if try := c.Run(b.ctx, launch()); try.Kind != session.Declined || try.Class != session.Retry || try.Breaker {
		t.Errorf("%+v", try)
	}
}

func TestStopIsKnownAsOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	arn := b.run(launch())
	b.await(arn, "RUNNING")
	if err := b.Stop(b.ctx, arn, "the session sleeps"); err != nil {
		t.Fatal(err)
	}
	b.await(arn, "STOPPED")
	want := []session.Task{{
		ARN: arn, AttemptID: launch().AttemptID, Status: "STOPPED", Desired: "STOPPED", Version: 6, CreatedAt: began,
		Exit: &session.Exit{Verdict: session.StoppedByUs, Class: session.Retry, Reason: "outposts: the session sleeps"},
	}}
	got, err := b.OfSession(b.ctx, "devin-1")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := b.Stop(b.ctx, arn, "again"); err != nil {
		t.Errorf("a stopped task: %v", err)
	}
	if err := b.Stop(b.ctx, strings.Replace(arn, "/outposts/", "/outposts/0", 1), "gone"); err != nil {
		t.Errorf("a task that ECS does not know: %v", err)
	}
	b.ecs.Inject(ecstest.Fault{Op: "StopTask", Code: "AccessDeniedException", Message: "not you"})
	if err := b.Stop(b.ctx, arn, "denied"); err == nil || !strings.HasPrefix(err.Error(), "stop task "+arn+": ") {
		t.Errorf("denied: %v", err)
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

// recorder keeps requests and answers nothing much.
type recorder struct {
	mu       sync.Mutex
	requests []any
}

func (r *recorder) keep(in any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, in)
}

func (r *recorder) RunTask(_ context.Context, in *ecs.RunTaskInput, _ ...func(*ecs.Options)) (*ecs.RunTaskOutput, error) {
	r.keep(in)
	return &ecs.RunTaskOutput{}, nil
}

func (r *recorder) StopTask(_ context.Context, in *ecs.StopTaskInput, _ ...func(*ecs.Options)) (*ecs.StopTaskOutput, error) {
	r.keep(in)
	return &ecs.StopTaskOutput{}, nil
}

func (r *recorder) DescribeTasks(_ context.Context, in *ecs.DescribeTasksInput, _ ...func(*ecs.Options)) (*ecs.DescribeTasksOutput, error) {
	r.keep(in)
	return &ecs.DescribeTasksOutput{}, nil
}

func (r *recorder) ListTasks(_ context.Context, in *ecs.ListTasksInput, _ ...func(*ecs.Options)) (*ecs.ListTasksOutput, error) {
	request := *in
	r.keep(&request)
	if in.DesiredStatus == types.DesiredStatusRunning && in.NextToken == nil {
		return &ecs.ListTasksOutput{TaskArns: []string{"arn:2", "arn:1"}, NextToken: aws.String("more")}, nil
	}
	return &ecs.ListTasksOutput{TaskArns: []string{"arn:1"}}, nil
}

func TestRequestsAreWhole(t *testing.T) {
	t.Parallel()
	var r recorder
	c := tasks.New(&r, "outposts", "worker")
	try := c.Run(t.Context(), launch())
	if want := (session.Try{Kind: session.Unclear, Class: session.Retry, Reason: "RunTask answered neither a task nor a failure"}); try != want {
		t.Errorf("%+v", try)
	}
	if err := c.Stop(t.Context(), "arn:1", "enough"); err != nil {
		t.Error(err)
	}
	if _, err := c.OfSession(t.Context(), "devin-1"); err != nil {
		t.Error(err)
	}
	if _, err := c.All(t.Context()); err != nil {
		t.Error(err)
	}
	run, err := tasks.RunTaskInput(launch())
	if err != nil {
		t.Fatal(err)
	}
	list := func(startedBy *string, desired types.DesiredStatus, token *string) *ecs.ListTasksInput {
		return &ecs.ListTasksInput{Cluster: aws.String("outposts"), StartedBy: startedBy, DesiredStatus: desired, NextToken: token}
	}
	describe := &ecs.DescribeTasksInput{Cluster: aws.String("outposts"), Tasks: []string{"arn:1", "arn:2"}}
	want := []any{
		run,
		&ecs.StopTaskInput{Cluster: aws.String("outposts"), Task: aws.String("arn:1"), Reason: aws.String("outposts: enough")},
		list(aws.String("devin-1"), "RUNNING", nil), list(aws.String("devin-1"), "RUNNING", aws.String("more")), list(aws.String("devin-1"), "STOPPED", nil), describe,
		list(nil, "RUNNING", nil), list(nil, "RUNNING", aws.String("more")), list(nil, "STOPPED", nil), describe,
	}
	if diff := cmp.Diff(want, r.requests, exact); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
