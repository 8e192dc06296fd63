package settings

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func smallest() map[string]any {
	return map[string]any{"outposts": []any{map[string]any{"id": "outpost_env-1", "tokenSecret": "devin/token"}}}
}

func TestDefaultsFillWhatIsNotSaid(t *testing.T) {
	t.Parallel()
	got, err := Load(smallest())
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	outpost := OutpostDefaults()
	outpost.ID, outpost.TokenSecret = "outpost_env-1", "devin/token"
	want.Outposts = []Outpost{outpost}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestValuesFromTheCommandLineAreReadAsJSON(t *testing.T) {
	t.Parallel()
	got, err := Load(map[string]any{
		"outposts": `[{"id":"o-1","tokenSecret":"t","maxSessions":3}]`, "dashboard": "false", "logRetentionDays": "7", "stackName": "x",
		"@aws-cdk/core:flag": true, "cli-telemetry": false, "acknowledged-issue-numbers": []any{34892},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Outposts[0].MaxSessions != 3 || got.Dashboard || got.LogRetentionDays != 7 || got.StackName != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestEveryMistakeIsToldAtOnceWithKeyValueAndRemedy(t *testing.T) {
	t.Parallel()
	_, err := Load(map[string]any{
		"stackName": "9lives", "functionArchitecture": "mips", "logRetentionDays": 31, "dashbord": true, "alarms": 7, "apiUrl": "http://x",
		"alarmEmail": "me@example.com", "alarmTopic": "arn:aws:sns:eu-west-1:123456789012:mine", "tags": map[string]any{"aws:x": "y"},
		"network": map[string]any{"vpcId": "vpc-12345678", "nat": true, "cidr": "10.0.0.1/16"},
		"outposts": []any{
			map[string]any{"id": "", "tokenSecret": "cog_abc", "maxSessions": 2.5, "capacity": []any{"fargate", "fargate", "ec2"}, "cpu": 2048, "memory": 3000},
			map[string]any{"id": "o", "tokenSecret": "t", "max_sessions": 1, "cpu": 3, "platformVersion": "1.3.0", "tags": map[string]any{"a": "b?", "devin:outpost": "x"}},
			map[string]any{"id": "o", "tokenSecret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:t", "image": "a", "baseImage": "b", "securityGroups": []any{"x"}},
		},
	})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	want := Problems{
		`alarmEmail: "me@example.com" cannot be subscribed to alarmTopic "arn:aws:sns:eu-west-1:123456789012:mine", which is yours; subscribe it there and leave one of the keys out`,
		`alarms: 7 is not a string`,
		`apiUrl: "http://x" is not a URL that starts with https:// and holds no password`,
		`dashbord: there is no such key (its value is true)`,
		`functionArchitecture: "mips" is not one of "arm64", "x64"`,
		`logRetentionDays: 31 is not one of CloudWatch's periods: 1 3 5 7 14 30 60 90 120 150 180 365 400 545 731 1096 1827 2192 2557 2922 3288 3653`,
		`network.cidr: "10.0.0.1/16" is not an IPv4 range from /16 to /24, such as "10.0.0.0/16"`,
		`network.nat, network.flowLogs, network.endpoints: are only for a VPC that the stack makes; set them up in vpc-12345678 yourself, and leave them out here`,
		`network.subnets: is empty; name the subnets of vpc-12345678 that tasks are to run in`,
		`outposts[0].capacity[1]: "fargate" stands in the list already`,
		`outposts[0].capacity[2]: "ec2" is not one of "fargate", "fargate-spot"`,
		`outposts[0].id: "" is not an outpost's id, such as "outpost_env-1a2b3c"`,
		`outposts[0].maxSessions: 2.5 is not a whole number`,
		`outposts[0].memory: 3000 MiB is not sold with cpu 2048; from 4096 to 16384 in steps of 1024`,
		`outposts[0].tokenSecret: is the token itself; put that into Secrets Manager and give the secret's name here. Treat this token as leaked`,
		`outposts[1].cpu: 3 is not one of 512, 1024, 2048, 4096, 8192, 16384`,
		`outposts[1].max_sessions: there is no such key (its value is 1); did you mean "maxSessions"?`,
		`outposts[1].platformVersion: "1.3.0" is not LATEST or a number from 1.4.0`,
		`outposts[1].tags: "a" = "b?" is not a tag for every service: only letters, digits, spaces and _.:/=+@- are`,
		`outposts[1].tags: "devin:outpost" is the stack's own, by which tasks' costs are told apart; leave it out`,
		`outposts[2].baseImage: "b" is not used, since image "a" is complete; leave one of them out`,
		`outposts[2].id: "o" stands in outposts[1] already; name each outpost once`,
		`outposts[2].securityGroups[0]: "x" is not the id of a security group (sg-…)`,
		`outposts[2].tokenSecret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:t" is not the full ARN of a secret, with the six characters that Secrets Manager adds`,
		`stackName: "9lives" is not a stack name: a letter, then letters, digits and hyphens, at most 128 in all`,
		`tags: "aws:x" begins with aws:, which AWS keeps for itself`,
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "cog_abc") {
		t.Error("the error repeats the token")
	}
}

func TestPlatformVersionsAreTheLatestOrFrom140(t *testing.T) {
	t.Parallel()
	for version, legal := range map[string]bool{
		"LATEST": true, "1.4.0": true, "1.10.2": true, "2.0.0": true, "10.0.0": true, "1.3.0": false, "1.4": false, "latest": false, "": false, "0.9.0": false, "1.04.0": false,
	} {
		context := smallest()
		context["outposts"].([]any)[0].(map[string]any)["platformVersion"] = version
		if _, err := Load(context); (err == nil) != legal {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestTooManyTagsAreRefusedBeforeATaskWouldBearThem(t *testing.T) {
	t.Parallel()
	tags := map[string]any{}
	for i := range 21 {
		tags[fmt.Sprint("tag-", i)] = strings.Repeat("ü", 256)
	}
	context := smallest()
	context["tags"] = tags
	want := Problems{"tags: 21 are too many; at most 20, since a task bears 50: the stack's, its outpost's, and AWS's own"}
	_, err := Load(context)
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	delete(tags, "tag-0")
	if _, err := Load(context); err != nil {
		t.Error(err)
	}
}

func TestTasksInPublicSubnetsNeedAnAddress(t *testing.T) {
	t.Parallel()
	context := smallest()
	context["network"] = map[string]any{"assignPublicIp": false}
	_, err := Load(context)
	if err == nil || !strings.Contains(err.Error(), "network.assignPublicIp: false leaves tasks in public subnets without a way out") {
		t.Errorf("got %v", err)
	}
}

func TestNamesNeverBeginWithWordsOfAWSAndNeverMeet(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, parts := range [][]string{{"aws-x", "o"}, {"ECS", "o"}, {"fargate", "o"}, {"a", "b-c"}, {"a-b", "c"}, {"a", "b.c"}, {"a", "b c"}, {strings.Repeat("n", 300), "1"}, {strings.Repeat("n", 300), "2"}} {
		name := SafeName(parts...)
		if !strings.HasPrefix(name, "outposts-") || len(name) > longestName || illegal.MatchString(name) || seen[name] {
			t.Errorf("%q gives %q", parts, name)
		}
		seen[name] = true
	}
}
