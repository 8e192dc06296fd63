package tasks_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

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
