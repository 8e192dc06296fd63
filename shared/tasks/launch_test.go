package tasks_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// exact compares the SDK's types, whose unexported fields say nothing.
var exact = cmpopts.IgnoreUnexported(
	ecs.RunTaskInput{}, ecs.StopTaskInput{}, ecs.DescribeTasksInput{}, ecs.ListTasksInput{}, types.CapacityProviderStrategyItem{}, types.NetworkConfiguration{},
	types.AwsVpcConfiguration{}, types.TaskOverride{}, types.ContainerOverride{}, types.KeyValuePair{},
)

func launch() tasks.Launch {
	return tasks.Launch{
		Cluster: "outposts", TaskDefinition: "worker:7", Container: "worker", Provider: "FARGATE_SPOT",
		Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"}, AssignPublicIP: true,
		OutpostID: "outpost_env-1", SessionID: "devin-1", GatewayURL: "wss://gateway.example/connect?a=1&b=<2>", Ciphertext: "Y2lwaGVy", RemoteSHA: "0123456789",
		AttemptID: "8f14e45fceea167a5a36dedd4bea2543f3e2a1b0", Deadline: time.Date(2026, 2, 4, 12, 0, 0, 5, time.FixedZone("", 7200)),
	}
}

func pair(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: aws.String(name), Value: aws.String(value)}
}

func TestRunTaskInputIsWhole(t *testing.T) {
	t.Parallel()
	want := &ecs.RunTaskInput{
		Cluster:                  aws.String("outposts"),
		TaskDefinition:           aws.String("worker:7"),
		CapacityProviderStrategy: []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}},
		ClientToken:              aws.String("8f14e45fceea167a5a36dedd4bea2543f3e2a1b0"),
		Count:                    aws.Int32(1),
		StartedBy:                aws.String("devin-1"),
		NetworkConfiguration: &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{
			Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"}, AssignPublicIp: types.AssignPublicIpEnabled,
		}},
		Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{
			Name: aws.String("worker"),
			Environment: []types.KeyValuePair{
				pair("OUTPOST_ID", "outpost_env-1"), pair("OUTPOST_SESSION_ID", "devin-1"), pair("OUTPOST_GATEWAY_URL", "wss://gateway.example/connect?a=1&b=<2>"),
				pair("OUTPOST_CONNECT_TOKEN_CIPHERTEXT", "Y2lwaGVy"), pair("OUTPOST_REMOTE_SHA", "0123456789"),
				pair("OUTPOST_ATTEMPT_ID", "8f14e45fceea167a5a36dedd4bea2543f3e2a1b0"), pair("OUTPOST_DEADLINE", "2026-02-04T10:00:00Z"),
			},
		}}},
	}
	for range 2 { // the same launch is the same request
		got, err := tasks.RunTaskInput(launch())
		if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}

	private := launch()
	private.AssignPublicIP = false
	want.NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp = types.AssignPublicIpDisabled
	got, err := tasks.RunTaskInput(private)
	if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
		t.Errorf("without a public IP: %v (-want +got):\n%s", err, diff)
	}

	bridge := launch()
	bridge.Subnets, bridge.Provider, bridge.Deadline, bridge.RemoteSHA = nil, "gpu", time.Time{}, ""
	want.NetworkConfiguration = nil
	want.CapacityProviderStrategy[0].CapacityProvider = aws.String("gpu")
	env := want.Overrides.ContainerOverrides[0].Environment
	env[4] = pair("OUTPOST_REMOTE_SHA", "")
	want.Overrides.ContainerOverrides[0].Environment = env[:6]
	got, err = tasks.RunTaskInput(bridge)
	if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
		t.Errorf("bridge network: %v (-want +got):\n%s", err, diff)
	}
}

func TestRunTaskInputCarriesWhatOnlyRunTaskCan(t *testing.T) {
	t.Parallel()
	want, err := tasks.RunTaskInput(launch())
	if err != nil {
		t.Fatal(err)
	}
	want.EnableExecuteCommand, want.PlatformVersion, want.PropagateTags = true, aws.String("1.4.0"), types.PropagateTagsTaskDefinition
	l := launch()
	l.Exec, l.PlatformVersion, l.PropagateTags = true, "1.4.0", true
	got, err := tasks.RunTaskInput(l)
	if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What goes over the wire, byte by byte: what was not asked for is not mentioned.
func TestRequestOnTheWireHasNoWordOfWhatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	body := func(l tasks.Launch) map[string]any {
		var sent map[string]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			io.WriteString(w, `{"tasks":[{"taskArn":"arn:1"}]}`) //nolint:errcheck // then the call fails
		}))
		defer server.Close()
		api := ecs.New(ecs.Options{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			HTTPClient: ecstest.WholeAnswers()})
		if try := tasks.New(api, "outposts", "worker").Run(t.Context(), l); try.ARN != "arn:1" {
			t.Fatalf("%+v", try)
		}
		return sent
	}
	plain, all := launch(), launch()
	all.Exec, all.PlatformVersion, all.PropagateTags = true, "LATEST", true
	want := []string{"capacityProviderStrategy", "clientToken", "cluster", "count", "networkConfiguration", "overrides", "startedBy", "taskDefinition"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(body(plain)))); diff != "" {
		t.Errorf("without the choices (-want +got):\n%s", diff)
	}
	told := body(plain)
	told["enableExecuteCommand"], told["platformVersion"], told["propagateTags"] = true, "LATEST", "TASK_DEFINITION"
	if diff := cmp.Diff(told, body(all)); diff != "" {
		t.Errorf("with all choices (-want +got):\n%s", diff)
	}
}

func TestIncompleteLaunchNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*tasks.Launch){
		"launch session devin-1: the cluster is missing":           func(l *tasks.Launch) { l.Cluster = "" },
		"launch session devin-1: the task definition is missing":   func(l *tasks.Launch) { l.TaskDefinition = "" },
		"launch session devin-1: the container is missing":         func(l *tasks.Launch) { l.Container = "" },
		"launch session devin-1: the capacity provider is missing": func(l *tasks.Launch) { l.Provider = "" },
		"launch session devin-1: the outpost id is missing":        func(l *tasks.Launch) { l.OutpostID = "" },
		"launch session : the session id is missing":               func(l *tasks.Launch) { l.SessionID = "" },
		"launch session devin-1: the attempt id is missing":        func(l *tasks.Launch) { l.AttemptID = "" },
		"launch session devin-1: the gateway URL is missing":       func(l *tasks.Launch) { l.GatewayURL = "" },
		"launch session devin-1: the ciphertext is missing":        func(l *tasks.Launch) { l.Ciphertext = "" },
	} {
		l := launch()
		spoil(&l)
		if _, err := tasks.RunTaskInput(l); err == nil || err.Error() != want || errors.Is(err, tasks.ErrTooLarge) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// filled is a launch whose overrides have a number of characters.
func filled(characters int) tasks.Launch {
	const frame = `{"containerOverrides":[{"environment":[` +
		`{"name":"OUTPOST_ID","value":"outpost_env-1"},{"name":"OUTPOST_SESSION_ID","value":"devin-1"},` +
		`{"name":"OUTPOST_GATEWAY_URL","value":"wss://gateway.example/connect?a=1&b=<2>"},{"name":"OUTPOST_CONNECT_TOKEN_CIPHERTEXT","value":""},` +
		`{"name":"OUTPOST_REMOTE_SHA","value":"0123456789"},{"name":"OUTPOST_ATTEMPT_ID","value":"8f14e45fceea167a5a36dedd4bea2543f3e2a1b0"},` +
		`{"name":"OUTPOST_DEADLINE","value":"2026-02-04T10:00:00Z"}],"name":"worker"}]}`
	l := launch()
	l.Ciphertext = strings.Repeat("A", characters-len(frame))
	return l
}

func TestOverridesOf8193CharactersAreTooLarge(t *testing.T) {
	t.Parallel()
	if _, err := tasks.RunTaskInput(filled(8192)); err != nil {
		t.Errorf("8192 characters: %v", err)
	}
	_, err := tasks.RunTaskInput(filled(8193))
	want := "launch session devin-1: the launch is too large for RunTask: its overrides have 8193 characters, ECS takes 8192; the connect token or the gateway URL is too long"
	if !errors.Is(err, tasks.ErrTooLarge) || err.Error() != want {
		t.Errorf("8193 characters: %v", err)
	}
}

func TestStartedByIsLegalWhateverTheSessionIsCalled(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[A-Za-z0-9\-/_]{1,128}$`)
	seen := map[string]string{}
	for session, want := range map[string]string{
		"devin-1":                "devin-1",
		"devin-a/b_c":            "devin-a/b_c",
		strings.Repeat("a", 128): strings.Repeat("a", 128),
		strings.Repeat("a", 129): strings.Repeat("a", 60) + "-",
		strings.Repeat("a", 300): strings.Repeat("a", 60) + "-",
		"devin-../../etc":        "devin-__/__/etc-",
		"devin-./../etc":         "devin-_/__/etc-",
		"devin-ü":                "devin-_-",
		"devin-\xff":             "devin-_-",
		"devin-1\n":              "devin-1_-",
		" ":                      "_-",
		"":                       "-",
	} {
		got := tasks.StartedBy(session)
		if !form.MatchString(got) || !strings.HasPrefix(got, want) || (want != session && len(got) != len(want)+40) {
			t.Errorf("%q: %q, want %q…", session, got, want)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q are both %q", session, other, got)
		}
		seen[got] = session
	}
}

func TestStopTaskInputIsWholeAndShort(t *testing.T) {
	t.Parallel()
	want := &ecs.StopTaskInput{Cluster: aws.String("outposts"), Task: aws.String("arn:1"), Reason: aws.String("outposts: the session sleeps")}
	if diff := cmp.Diff(want, tasks.StopTaskInput("outposts", "arn:1", "the session sleeps"), exact); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.Reason = aws.String("outposts: " + strings.Repeat("ü", 245))
	if diff := cmp.Diff(want, tasks.StopTaskInput("outposts", "arn:1", strings.Repeat("ü", 300)), exact); diff != "" {
		t.Errorf("a long reason (-want +got):\n%s", diff)
	}
}

func TestFamilyIsFoundInEveryFormOfATaskDefinition(t *testing.T) {
	t.Parallel()
	for _, definition := range []string{"worker", "worker:7", "arn:aws:ecs:eu-central-1:123456789012:task-definition/worker:7"} {
		if got := tasks.Family(definition); got != "worker" {
			t.Errorf("%s: %q", definition, got)
		}
	}
}
