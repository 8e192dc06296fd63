package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

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
