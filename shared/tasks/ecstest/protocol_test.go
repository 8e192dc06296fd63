package ecstest_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprint(err)
}

func strategy(provider string) func(*ecs.RunTaskInput) {
	return func(in *ecs.RunTaskInput) { in.CapacityProviderStrategy[0].CapacityProvider = aws.String(provider) }
}

func override(container, name, value string) func(*ecs.RunTaskInput) {
	return func(in *ecs.RunTaskInput) {
		in.Overrides = &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{
			Name: aws.String(container), Environment: []types.KeyValuePair{{Name: aws.String(name), Value: aws.String(value)}},
		}}}
	}
}

func TestRunTaskRefusesWhatECSRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub(), func(o *ecstest.Options) {
		o.Providers = []string{"FARGATE", "gpu"}
		o.Definitions["bridge:3"] = ecstest.Definition{Bridge: true, Stub: stub().Stub}
	})
	const wrapping = `{"containerOverrides":[{"environment":[{"name":"N","value":""}],"name":"worker"}]}`
	bridge := func(in *ecs.RunTaskInput) { in.TaskDefinition = aws.String("bridge:3") }
	for name, tc := range map[string]struct {
		how  []func(*ecs.RunTaskInput)
		want string // empty = taken
	}{
		"in order": {nil, ""},
		"by ARN": {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) {
			in.TaskDefinition = aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/worker:12")
		}}, ""},
		"unknown cluster":       {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.Cluster = aws.String("another") }}, "ClusterNotFoundException"},
		"unknown definition":    {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.TaskDefinition = aws.String("another") }}, "ClientException"},
		"unknown revision":      {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.TaskDefinition = aws.String("bridge:4") }}, "ClientException"},
		"unknown provider":      {[]func(*ecs.RunTaskInput){strategy("FARGATE_SPOT")}, "InvalidParameterException"},
		"no strategy":           {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.CapacityProviderStrategy = nil }}, "InvalidParameterException"},
		"strategy and type":     {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.LaunchType = types.LaunchTypeFargate }}, "InvalidParameterException"},
		"no network":            {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.NetworkConfiguration = nil }}, "InvalidParameterException"},
		"bridge":                {[]func(*ecs.RunTaskInput){bridge, strategy("gpu"), func(in *ecs.RunTaskInput) { in.NetworkConfiguration = nil }}, ""},
		"bridge with a network": {[]func(*ecs.RunTaskInput){bridge, strategy("gpu")}, "InvalidParameterException"},
		"bridge on Fargate":     {[]func(*ecs.RunTaskInput){bridge, func(in *ecs.RunTaskInput) { in.NetworkConfiguration = nil }}, "ClientException"},
		"public IP on a host": {[]func(*ecs.RunTaskInput){strategy("gpu"), func(in *ecs.RunTaskInput) {
			in.NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp = types.AssignPublicIpEnabled
		}}, "InvalidParameterException"},
		"startedBy of 129":    {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.StartedBy = aws.String(strings.Repeat("a", 129)) }}, "InvalidParameterException"},
		"startedBy with dots": {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.StartedBy = aws.String("devin-../etc") }}, "InvalidParameterException"},
		"client token of 65":  {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.ClientToken = aws.String(strings.Repeat("a", 65)) }}, "InvalidParameterException"},
		"all choices": {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) {
			in.PlatformVersion, in.PropagateTags, in.EnableExecuteCommand = aws.String("LATEST"), types.PropagateTagsTaskDefinition, true
		}}, ""},
		"platform that is none": {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.PlatformVersion = aws.String("1.5.0") }}, "PlatformUnknownException"},
		"platform on a host": {[]func(*ecs.RunTaskInput){bridge, strategy("gpu"), func(in *ecs.RunTaskInput) {
			in.NetworkConfiguration, in.PlatformVersion = nil, aws.String("LATEST")
		}}, "InvalidParameterException"},
		"tags of a service":   {[]func(*ecs.RunTaskInput){func(in *ecs.RunTaskInput) { in.PropagateTags = types.PropagateTagsService }}, "InvalidParameterException"},
		"another's container": {[]func(*ecs.RunTaskInput){override("sidecar", "N", "v")}, "InvalidParameterException"},
		"overrides of 8192":   {[]func(*ecs.RunTaskInput){override("worker", "N", strings.Repeat("ü", 8192-len(wrapping)))}, ""},
		"overrides of 8193":   {[]func(*ecs.RunTaskInput){override("worker", "N", strings.Repeat("x", 8193-len(wrapping)))}, "InvalidParameterException"},
	} {
		in := request("token-" + base64.RawURLEncoding.EncodeToString([]byte(name)))
		for _, change := range tc.how {
			change(in)
		}
		got := ""
		if _, err := b.sdk.RunTask(b.ctx, in); err != nil {
			got = code(err)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestClientTokenNamesOneTask(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	first := b.run("a")
	if again := b.run("a"); again != first {
		t.Errorf("the same call made %s beside %s", again, first)
	}
	if other := b.run("b"); other == first {
		t.Error("another token gave the same task")
	}
	in := request("a")
	in.StartedBy = aws.String("devin-2")
	_, err := b.sdk.RunTask(b.ctx, in)
	var conflict *types.ConflictException
	if !errors.As(err, &conflict) || !cmp.Equal(conflict.ResourceIds, []string{first}) {
		t.Errorf("the token with other parameters: %v", err)
	}
	in = request("a")
	in.PropagateTags = types.PropagateTagsTaskDefinition
	if _, err := b.sdk.RunTask(b.ctx, in); !errors.As(err, &conflict) {
		t.Errorf("the token with tags: %v", err)
	}

	b.await(first, "RUNNING")
	b.stop(first, "enough")
	b.await(first, "STOPPED")
	b.now.add(59 * time.Minute)
	if again := b.run("a"); again != first {
		t.Error("the token was forgotten within an hour of its task's end")
	}
	b.now.add(time.Minute)
	if again := b.run("a"); again == first {
		t.Error("the token was remembered an hour after its task's end")
	}
}

func TestStoppedTaskIsForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	arn := b.run("a")
	b.stop(arn, "enough")
	b.await(arn, "STOPPED")
	if got := b.describe(arn); len(got.Tasks) != 1 {
		t.Errorf("at once: %+v", got.Failures)
	}
	b.now.add(time.Hour)
	got := b.describe(arn)
	if len(got.Tasks) != 0 || len(got.Failures) != 1 || *got.Failures[0].Reason != "MISSING" || *got.Failures[0].Arn != arn {
		t.Errorf("an hour later: %+v", got)
	}
	if got := b.list(func(in *ecs.ListTasksInput) { in.DesiredStatus = types.DesiredStatusStopped }); len(got.TaskArns) != 0 {
		t.Errorf("an hour later it is listed: %v", got.TaskArns)
	}
	if _, err := b.sdk.StopTask(b.ctx, &ecs.StopTaskInput{Cluster: aws.String("outposts"), Task: aws.String(arn)}); code(err) != "InvalidParameterException" {
		t.Errorf("stopping it: %v", err)
	}
}

func TestListTasksPagesAndFilters(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	var all, mine []string
	for i := range 205 {
		all = append(all, b.run(fmt.Sprint("t", i), func(in *ecs.RunTaskInput) {
			if i%100 == 0 {
				in.StartedBy = aws.String("devin-2")
			}
		}))
		if i%100 == 0 {
			mine = append(mine, all[i])
		}
	}
	var got []string
	pages := ecs.NewListTasksPaginator(b.sdk, &ecs.ListTasksInput{Cluster: aws.String("outposts")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.TaskArns...)
	}
	if diff := cmp.Diff(all, got); diff != "" || b.Calls()["ListTasks"] != 3 {
		t.Errorf("all, in %d calls (-want +got):\n%s", b.Calls()["ListTasks"], diff)
	}
	startedBy := func(in *ecs.ListTasksInput) { in.StartedBy = aws.String("devin-2") }
	if diff := cmp.Diff(mine, b.list(startedBy).TaskArns); diff != "" {
		t.Errorf("by startedBy (-want +got):\n%s", diff)
	}
	if got := b.list(startedBy, func(in *ecs.ListTasksInput) { in.DesiredStatus = types.DesiredStatusStopped }).TaskArns; len(got) != 0 {
		t.Errorf("stopped by startedBy: %v", got)
	}
	if _, err := b.sdk.ListTasks(b.ctx, &ecs.ListTasksInput{Cluster: aws.String("outposts"), StartedBy: aws.String("a"), Family: aws.String("worker")}); code(err) != "InvalidParameterException" {
		t.Errorf("startedBy with another filter: %v", err)
	}
	if _, err := b.sdk.DescribeTasks(b.ctx, &ecs.DescribeTasksInput{Cluster: aws.String("outposts"), Tasks: all[:101]}); code(err) != "InvalidParameterException" {
		t.Errorf("101 tasks in one DescribeTasks: %v", err)
	}
}

func TestTaskThatIsBeingStoppedIsListedAsStopped(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	b := newBench(t, ecstest.Definition{Stub: func(context.Context, map[string]string) int { <-held; return 0 }})
	defer close(held)
	arn := b.run("a")
	b.await(arn, "RUNNING")
	b.stop(arn, "enough")
	if got := b.list().TaskArns; len(got) != 0 {
		t.Errorf("listed as RUNNING: %v", got)
	}
	got := b.list(func(in *ecs.ListTasksInput) { in.DesiredStatus = types.DesiredStatusStopped }).TaskArns
	if diff := cmp.Diff([]string{arn}, got); diff != "" {
		t.Errorf("listed as STOPPED (-want +got):\n%s", diff)
	}
	if task := b.describe(arn).Tasks[0]; *task.LastStatus != "RUNNING" || *task.DesiredStatus != "STOPPED" {
		t.Errorf("it is %s, and should be %s", *task.LastStatus, *task.DesiredStatus)
	}
}

func TestDescribedTaskTellsItsWholeLife(t *testing.T) {
	t.Parallel()
	b := newBench(t, ecstest.Definition{Stub: func(context.Context, map[string]string) int { return 0 }})
	arn := b.run("a", override("worker", "N", "v"), func(in *ecs.RunTaskInput) { in.EnableExecuteCommand = true })
	b.await(arn, "STOPPED")
	at := aws.Time(time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC))
	want := types.Task{
		Attachments: []types.Attachment{}, Attributes: []types.Attribute{}, AvailabilityZone: aws.String("us-east-1a"), CapacityProviderName: aws.String("FARGATE"),
		ClusterArn: aws.String("arn:aws:ecs:us-east-1:123456789012:cluster/outposts"), Cpu: aws.String("1024"), Memory: aws.String("2048"),
		Containers: []types.Container{{
			ContainerArn: aws.String(strings.Replace(arn, ":task/", ":container/", 1) + "/1"), Cpu: aws.String("0"), ExitCode: aws.Int32(0), Image: aws.String("local/worker"),
			LastStatus: aws.String("STOPPED"), Name: aws.String("worker"), NetworkInterfaces: []types.NetworkInterface{}, TaskArn: aws.String(arn),
		}},
		CreatedAt: at, StartedAt: at, StoppingAt: at, ExecutionStoppedAt: at, StoppedAt: at,
		DesiredStatus: aws.String("STOPPED"), LastStatus: aws.String("STOPPED"), Group: aws.String("family:worker"), LaunchType: types.LaunchTypeFargate,
		EnableExecuteCommand: true, PlatformVersion: aws.String("1.4.0"),
		Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{
			Name: aws.String("worker"), Environment: []types.KeyValuePair{{Name: aws.String("N"), Value: aws.String("v")}},
		}}},
		StartedBy: aws.String("devin-1"), StopCode: types.TaskStopCodeEssentialContainerExited, StoppedReason: aws.String("Essential container in task exited"),
		TaskArn: aws.String(arn), TaskDefinitionArn: aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/worker:1"), Version: 5,
	}
	if diff := cmp.Diff(want, b.describe(arn).Tasks[0], cmpopts.IgnoreUnexported(
		types.Task{}, types.Container{}, types.TaskOverride{}, types.ContainerOverride{}, types.KeyValuePair{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTaskBearsItsDefinitionsTagsWhenAskedToAndUntilItIsToldToStop(t *testing.T) {
	t.Parallel()
	d := stub()
	d.Tags = map[string]string{"team": "platform", "devin:outpost": "outpost_env-1"}
	b := newBench(t, d)
	tags := func(arn string) []types.Tag {
		t.Helper()
		out, err := b.sdk.DescribeTasks(b.ctx, &ecs.DescribeTasksInput{Cluster: aws.String("outposts"), Tasks: []string{arn}, Include: []types.TaskField{types.TaskFieldTags}})
		if err != nil || len(out.Tasks) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out.Tasks[0].Tags
	}
	arn := b.run("a", func(in *ecs.RunTaskInput) { in.PropagateTags = types.PropagateTagsTaskDefinition })
	want := []types.Tag{{Key: aws.String("devin:outpost"), Value: aws.String("outpost_env-1")}, {Key: aws.String("team"), Value: aws.String("platform")}}
	if diff := cmp.Diff(want, tags(arn), cmpopts.IgnoreUnexported(types.Tag{})); diff != "" {
		t.Errorf("asked to (-want +got):\n%s", diff)
	}
	b.stop(arn, "enough")
	if got := tags(arn); len(got) != 0 {
		t.Errorf("told to stop: %v", got)
	}
	if got := tags(b.run("b")); len(got) != 0 {
		t.Errorf("not asked to: %v", got)
	}
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	taken := strings.TrimPrefix(b.URL, "http://")
	definitions := map[string]ecstest.Definition{"worker": stub()}
	for want, o := range map[string]ecstest.Options{
		"Options.Now and Options.Definitions are required":  {Definitions: definitions},
		"Options.Now and Options.Definitions are required ": {Now: b.now.now},
		"address already in use (is the port taken?)":       {Definitions: definitions, Now: b.now.now, Addr: taken},
	} {
		if _, err := ecstest.New(o); err == nil || !strings.HasPrefix(err.Error(), "start local ECS: ") || !strings.HasSuffix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want … %s", err, want)
		}
	}
}

func TestWhatIsNotECSIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, stub())
	if _, err := b.sdk.ListClusters(b.ctx, &ecs.ListClustersInput{}); code(err) != "UnknownOperationException" {
		t.Errorf("an operation that is not there: %v", err)
	}
	anonymous := b.Client(once, func(o *ecs.Options) { o.Credentials = aws.AnonymousCredentials{} })
	if _, err := anonymous.ListTasks(b.ctx, &ecs.ListTasksInput{}); code(err) != "MissingAuthenticationTokenException" {
		t.Errorf("a call without a signature: %v", err)
	}
}
