//go:build testaws

package testaws

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// The stack is deployed once, and so its tests come one after the other.
func TestDeployedStack(t *testing.T) {
	s := open(t)
	t.Run("each built function runs under the runtime interface emulator", func(t *testing.T) { s.runUnderEmulator(t) })
	t.Run("a session goes from the queue to a worker and back", func(t *testing.T) { s.liveOneLife(t) })
}

func (s *site) liveOneLife(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	delivered := make(chan struct{})
	go func() { defer close(delivered); s.deliver(ctx, t) }()
	defer func() { stop(); <-delivered }()

	s.fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-life"})
	s.invoke(t, "poll", map[string]any{})
	batch := s.offers(t)
	if len(batch.Records) != 1 {
		t.Fatalf("poll sent %d offers: %+v", len(batch.Records), batch)
	}
	var answer lambda.SQSEventResponse
	if err := json.Unmarshal(s.invoke(t, "claim", batch), &answer); err != nil || len(answer.BatchItemFailures) > 0 {
		t.Fatalf("claim answered %+v (%v)", answer, err)
	}
	if err := s.fleet.WaitConnected(ctx, "devin-life"); err != nil {
		t.Fatalf("no worker connected: %v", err)
	}
	s.carriesWhatTheStackSays(ctx, t)
	output, exit, err := s.fleet.Exec(ctx, "devin-life", "env")
	if err != nil || exit != 0 {
		t.Fatalf("the session cannot work: exit %d, %v", exit, err)
	}
	for line := range strings.Lines(output) {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "OUTPOST_") {
			t.Errorf("the session sees %s", name)
		}
	}
	if err := s.fleet.Terminate("devin-life"); err != nil {
		t.Fatal(err)
	}
	got := s.ended(ctx, t, "devin-life")
	want := session.Lease{SessionID: "devin-life", OutpostID: outpost, State: session.Ended, Outcome: session.Completed, Attempt: 1}
	if diff := cmp.Diff(want, session.Lease{SessionID: got.SessionID, OutpostID: got.OutpostID, State: got.State, Outcome: got.Outcome, Attempt: got.Attempt, Failures: got.Failures}); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	counter, err := s.store.Counter(ctx, outpost)
	if diff := cmp.Diff(lease.Counter{}, counter); diff != "" || err != nil {
		t.Errorf("counter (-want +got):\n%s%v", diff, err)
	}
	if entry := s.fleet.Session("devin-life"); entry.Claims != 1 || entry.Phase == "claimed" {
		t.Errorf("the queue still has it as %+v", entry)
	}
	s.holdsNoToken(t)
}

// carriesWhatTheStackSays looks at the only task: the configuration's way from cdk.json through the parameter and the function into RunTask.
func (s *site) carriesWhatTheStackSays(ctx context.Context, t *testing.T) {
	t.Helper()
	client := s.ecs.Client()
	listed, err := client.ListTasks(ctx, &ecs.ListTasksInput{Cluster: aws.String(s.physical["Cluster"])})
	if err != nil || len(listed.TaskArns) != 1 {
		t.Fatalf("tasks: %+v (%v)", listed, err)
	}
	out, err := client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: aws.String(s.physical["Cluster"]), Tasks: listed.TaskArns, Include: []types.TaskField{types.TaskFieldTags}})
	if err != nil || len(out.Tasks) != 1 {
		t.Fatalf("described: %+v (%v)", out, err)
	}
	task, tags := out.Tasks[0], map[string]string{}
	for _, tag := range out.Tasks[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	if diff := cmp.Diff(map[string]string{"devin:outpost": outpost}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if !task.EnableExecuteCommand || *task.CapacityProviderName != "FARGATE" {
		t.Errorf("the task runs on %s, with ECS Exec %v", *task.CapacityProviderName, task.EnableExecuteCommand)
	}
}

// ended waits for the end of a lease: observe brings it about, or the next sweep does.
func (s *site) ended(ctx context.Context, t *testing.T, id string) session.Lease {
	t.Helper()
	for {
		l, err := s.store.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if l != nil && l.State == session.Ended {
			return *l
		}
		s.invoke(t, "sweep", map[string]any{})
		select {
		case <-ctx.Done():
			t.Fatalf("the lease has not ended: %+v", l)
		case <-time.After(time.Second):
		}
	}
}

// holdsNoToken looks through the whole table for tokens in the clear.
func (s *site) holdsNoToken(t *testing.T) {
	t.Helper()
	rows, err := dynamodb.NewFromConfig(moto(t)).Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.store.Table})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rows.Items)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows.Items) < 3 || strings.Contains(string(text), s.fleet.Token()) {
		t.Errorf("the table holds %d rows, or the account token", len(rows.Items))
	}
}
