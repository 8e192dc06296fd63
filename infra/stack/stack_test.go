package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

func TestLeaseTableIsTheOneTheCodeExpects(t *testing.T) {
	t.Parallel()
	equal(t, "table", templates["default"].resource(t, "Leases"), `{
		"BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "active_outpost", "AttributeType": "S"}],
		"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
		"GlobalSecondaryIndexes": [{"IndexName": "active", "Projection": {"ProjectionType": "ALL"},
			"KeySchema": [{"AttributeName": "active_outpost", "KeyType": "HASH"}, {"AttributeName": "pk", "KeyType": "RANGE"}]}],
		"TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": true}}`)
}

func TestOffersAreRedrivenAndOutliveTheirConsumer(t *testing.T) {
	t.Parallel()
	tmpl := templates["default"]
	equal(t, "queue", tmpl.resource(t, "Offers"), `{
		"VisibilityTimeout": 360, "MessageRetentionPeriod": 3600, "SqsManagedSseEnabled": true,
		"RedrivePolicy": {"deadLetterTargetArn": "${OfferDeadLetters.Arn}", "maxReceiveCount": 5}}`)
	if timeout := tmpl.resource(t, "Claim")["Timeout"].(float64); 360 < 6*timeout {
		t.Errorf("the visibility of 360 s is less than six times claim's timeout of %v s", timeout)
	}
}

func TestClaimTakesOffersInPartialBatchesAndFourAtOnce(t *testing.T) {
	t.Parallel()
	equal(t, "mapping", templates["default"].resource(t, "OfferMapping"), `{
		"FunctionName": "${Claim}", "EventSourceArn": "${Offers.Arn}", "BatchSize": 5, "FunctionResponseTypes": ["ReportBatchItemFailures"],
		"ScalingConfig": {"MaximumConcurrency": 4}}`)
}

func TestPollAndSweepStartEachMinuteWithoutRetries(t *testing.T) {
	t.Parallel()
	tmpl := templates["default"]
	for _, name := range []string{"Poll", "Sweep"} {
		equal(t, name, tmpl.resource(t, name+"Schedule"), fmt.Sprintf(`{
			"GroupName": "${Schedules}", "ScheduleExpression": "rate(1 minute)", "FlexibleTimeWindow": {"Mode": "OFF"},
			"Target": {"Arn": "${%s.Arn}", "RoleArn": "${ScheduleRole.Arn}", "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}}}`, name))
		equal(t, name, tmpl.resource(t, name+"Invoke"), fmt.Sprintf(
			`{"FunctionName": "${%s}", "Qualifier": "$LATEST", "MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}`, name))
	}
}

func TestObserveHearsOfTasksOfOurClusterOnlyAndLosesNoEvent(t *testing.T) {
	t.Parallel()
	tmpl := templates["default"]
	equal(t, "rule", tmpl.resource(t, "TaskEvents"), `{
		"Description": "Task state changes of the outposts' cluster",
		"EventPattern": {"source": ["aws.ecs"], "detail-type": ["ECS Task State Change"], "detail": {"clusterArn": ["${Cluster.Arn}"]}},
		"Targets": [{"Id": "observe", "Arn": "${Observe.Arn}", "DeadLetterConfig": {"Arn": "${EventDeadLetters.Arn}"},
			"RetryPolicy": {"MaximumRetryAttempts": 10, "MaximumEventAgeInSeconds": 3600}}]}`)
	equal(t, "failures", tmpl.resource(t, "ObserveInvoke")["DestinationConfig"], `{"OnFailure": {"Destination": "${EventDeadLetters.Arn}"}}`)
	equal(t, "permission", tmpl.resource(t, "TaskEventsPermission"), `{
		"Action": "lambda:InvokeFunction", "FunctionName": "${Observe}", "Principal": "events.amazonaws.com", "SourceArn": "${TaskEvents.Arn}"}`)
}

func TestFunctionsGetWhatTheyNeedToKnow(t *testing.T) {
	t.Parallel()
	tmpl := templates["default"]
	for name, want := range map[string]struct{ timeout, memory float64 }{"Poll": {170, 128}, "Claim": {60, 256}, "Observe": {60, 256}, "Sweep": {58, 256}} {
		f := tmpl.resource(t, name)
		equal(t, name, f["Environment"], `{"Variables": {
			"ACCEPTOR_ID": "aws-${AWS::AccountId}-${AWS::Region}-map[Fn::Select:[2 map[Fn::Split:[/ ${AWS::StackId}]]]]",
			"CLUSTER": "${Cluster}", "DEVIN_API_URL": "https://api.devin.ai", "LEASE_TABLE": "${Leases}", "OFFER_QUEUE_URL": "${Offers}",
			"OUTPOSTS_PARAMETERS": "/outposts/devin-outposts/outpost_env-example", "TOKEN_KEY_ID": "${TokenKey.Arn}"}}`)
		if f["Timeout"] != want.timeout || f["MemorySize"] != want.memory || f["Runtime"] != "provided.al2023" || f["Handler"] != "bootstrap" {
			t.Errorf("%s: timeout %v, memory %v, runtime %v, handler %v", name, f["Timeout"], f["MemorySize"], f["Runtime"], f["Handler"])
		}
		equal(t, name, f["Architectures"], `["arm64"]`)
		equal(t, name, templates["fullest"].resource(t, name)["Architectures"], `["x86_64"]`)
		if f["ReservedConcurrentExecutions"] != nil {
			t.Errorf("%s reserves concurrency, which a new account may not have", name)
		}
	}
	if got := templates["own-vpc"].resource(t, "Poll")["Timeout"]; got != 60.0 {
		t.Errorf("without an outpost to watch, poll's timeout is %v", got)
	}
}

func TestConfigurationIsInTheFunctionsOwnWords(t *testing.T) {
	t.Parallel()
	var got any
	if err := json.Unmarshal([]byte(plain(templates["fullest"].resource(t, idOf("Outpost", settings.Outpost{ID: "outpost_env-one"}))["Value"]).(string)), &got); err != nil {
		t.Fatal(err)
	}
	choice := `{"name": %q, "provider": %q, "task_definition": %q, "container": "worker",
		"subnets": ["${VpcPrivateSubnet1Subnet%s}", "${VpcPrivateSubnet2Subnet%s}"], "security_groups": ["${TaskSecurityGroup.GroupId}", "sg-0123456789abcdef0"], "assign_public_ip": false,
		"platform_version": "1.4.0", "exec": true, "propagate_tags": true}`
	var ids []any
	for _, id := range templates["fullest"].ofType("AWS::EC2::Subnet") {
		if name, private := strings.CutPrefix(id, "VpcPrivateSubnet"); private {
			ids = append(ids, name[len("1Subnet"):])
		}
	}
	family := settings.SafeName("aws-everything", "outpost_env-one")
	equal(t, "parameter", got, fmt.Sprintf(`{
		"outpost_id": "outpost_env-one", "token_secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:devin/one-AbCdEf", "max_sessions": 50,
		"dispatch": "poll", "max_failures": 5, "max_session_hours": 48, "network_policy": "ignore", "capacity": [%s, %s]}`,
		fmt.Sprintf(choice, append([]any{"fargate-spot", "FARGATE_SPOT", family}, ids...)...),
		fmt.Sprintf(choice, append([]any{"fargate", "FARGATE", family}, ids...)...)))
	for name, tmpl := range templates {
		for _, id := range tmpl.ofType("AWS::SSM::Parameter") {
			text := plain(tmpl.resource(t, id)["Value"]).(string)
			if len(text) > 3000 { // a standard parameter holds 4 KB, and references grow when they are filled in
				t.Errorf("%s: parameter %s holds %d bytes", name, id, len(text))
			}
		}
	}
}

// A role may what a parameter asks for before the parameter asks it, and a function starts when its parameters are there.
func TestDeploymentGoesFromRolesToParametersToFunctions(t *testing.T) {
	t.Parallel()
	tmpl := templates["fullest"]
	waitsFor := func(id string) []string {
		return list(tmpl.resources()[id].(map[string]any)["DependsOn"])
	}
	parameters := tmpl.ofType("AWS::SSM::Parameter")
	for _, name := range Functions {
		if diff := cmp.Diff(slices.Sorted(slices.Values(parameters)), waitsFor(title(name))); diff != "" {
			t.Errorf("%s waits for (-want +got):\n%s", name, diff)
		}
		for _, id := range parameters {
			if !slices.Contains(waitsFor(id), title(name)+"Role") {
				t.Errorf("%s waits for %v, not for the role of %s", id, waitsFor(id), name)
			}
		}
	}
}

func TestNothingListensAndNothingCostsWhileIdle(t *testing.T) {
	t.Parallel()
	for name, tmpl := range templates {
		group := tmpl.resource(t, "TaskSecurityGroup")
		if group["SecurityGroupIngress"] != nil {
			t.Errorf("%s: the tasks' security group lets in %v", name, group["SecurityGroupIngress"])
		}
		if ids := tmpl.ofType("AWS::EC2::SecurityGroupIngress"); ids != nil {
			t.Errorf("%s: has ingress rules %v", name, ids)
		}
		for _, id := range slices.Concat(tmpl.ofType("AWS::EC2::NatGateway"), tmpl.ofType("AWS::EC2::EIP"), tmpl.ofType("AWS::EC2::VPCEndpoint")) {
			if name != "fullest" && name != "reordered" {
				t.Errorf("%s: has %s, which nobody asked for", name, id)
			}
		}
		for _, id := range slices.Concat(tmpl.ofType("AWS::EC2::Subnet")) {
			if tmpl.resource(t, id)["MapPublicIpOnLaunch"] == true {
				t.Errorf("%s: %s gives an address to whatever starts in it", name, id)
			}
		}
		for _, id := range tmpl.ofType("AWS::Lambda::Function") {
			if tmpl.resource(t, id)["VpcConfig"] != nil {
				t.Errorf("%s: function %s stands in the VPC", name, id)
			}
		}
	}
	if n := len(templates["own-vpc"].ofType("AWS::EC2::VPC")); n != 0 {
		t.Errorf("a VPC was made although one was named")
	}
}

func TestWorkersStopGentlyAndKeepTheirSize(t *testing.T) {
	t.Parallel()
	task := templates["fullest"].resource(t, idOf("Worker", settings.Outpost{ID: "outpost_env-one"}))
	container := task["ContainerDefinitions"].([]any)[0].(map[string]any)
	equal(t, "container", map[string]any{"Name": container["Name"], "StopTimeout": container["StopTimeout"], "User": container["User"], "LinuxParameters": container["LinuxParameters"], "Image": container["Image"]}, `{
		"Name": "worker", "StopTimeout": 120, "User": "0", "Image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/worker:7",
		"LinuxParameters": {"Tmpfs": [{"ContainerPath": "/dev/shm", "Size": 2048, "MountOptions": ["nosuid", "nodev"]}]}}`)
	equal(t, "task", map[string]any{"Cpu": task["Cpu"], "Memory": task["Memory"], "EphemeralStorage": task["EphemeralStorage"], "RuntimePlatform": task["RuntimePlatform"], "NetworkMode": task["NetworkMode"], "Tags": task["Tags"]}, `{
		"Cpu": "4096", "Memory": "16384", "EphemeralStorage": {"SizeInGiB": 100}, "NetworkMode": "awsvpc",
		"RuntimePlatform": {"CpuArchitecture": "ARM64", "OperatingSystemFamily": "LINUX"},
		"Tags": [{"Key": "cost-centre", "Value": "42"}, {"Key": "devin:outpost", "Value": "outpost_env-one"}, {"Key": "team", "Value": "platform"}]}`)
	if second := templates["fullest"].resource(t, idOf("Worker", settings.Outpost{ID: "outpost_env-two"})); second["EphemeralStorage"] != nil {
		t.Errorf("20 GiB are asked for, which ECS refuses: %v", second["EphemeralStorage"])
	}
}

func TestOutpostsThatChangePlacesChangeNothingOfTheirOwn(t *testing.T) {
	t.Parallel()
	before, after := templates["fullest"], templates["reordered"]
	for _, kind := range []string{"AWS::SSM::Parameter", "AWS::ECS::TaskDefinition", "AWS::CloudWatch::Alarm"} {
		for _, id := range before.ofType(kind) {
			if diff := cmp.Diff(before.resource(t, id), after.resources()[id].(map[string]any)["Properties"]); diff != "" {
				t.Errorf("%s (-before +after):\n%s", id, diff)
			}
		}
	}
	if diff := cmp.Diff(before.ofType("AWS::IAM::Role"), after.ofType("AWS::IAM::Role")); diff != "" {
		t.Errorf("roles (-before +after):\n%s", diff)
	}
}

func TestCdkJSONIsTheDefaultConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../cdk.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Context json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(load(configurations["default"]), load(string(file.Context))); diff != "" {
		t.Errorf("settings (-default +cdk.json):\n%s", diff)
	}
}

func TestOutputsAreWhatOutpostctlLooksFor(t *testing.T) {
	t.Parallel()
	outputs := map[string]any{}
	for name, output := range templates["default"]["Outputs"].(map[string]any) {
		outputs[name] = plain(output.(map[string]any)["Value"])
	}
	variables := templates["default"].resource(t, "Poll")["Environment"].(map[string]any)["Variables"].(map[string]any)
	want := map[string]any{"EventDeadLettersUrl": "${EventDeadLetters}", "OfferDeadLettersUrl": "${OfferDeadLetters}"}
	for output, variable := range map[string]string{
		"AcceptorId": "ACCEPTOR_ID", "ApiUrl": "DEVIN_API_URL", "ClusterName": "CLUSTER", "LeaseTableName": "LEASE_TABLE", "OfferQueueUrl": "OFFER_QUEUE_URL",
		"OutpostsParameters": "OUTPOSTS_PARAMETERS", "TokenKeyArn": "TOKEN_KEY_ID",
	} {
		want[output] = plain(variables[variable])
	}
	if diff := cmp.Diff(want, outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestTwoStacksShareNoName(t *testing.T) {
	t.Parallel()
	names := func(tmpl template) map[any]string {
		out := map[any]string{}
		for id, resource := range tmpl.resources() {
			properties, _ := resource.(map[string]any)["Properties"].(map[string]any)
			for _, key := range []string{"AlarmName", "ClusterName", "DashboardName", "Family", "FunctionName", "GroupName", "LogGroupName", "Name", "QueueName", "RoleName", "TableName", "TopicName"} {
				if text, literal := properties[key].(string); literal {
					out[text] = id
				}
			}
		}
		return out
	}
	first := names(templates["default"])
	for name, id := range names(templates["second"]) {
		if other, taken := first[name]; taken {
			t.Errorf("%s of one stack and %s of the other are both called %v", other, id, name)
		}
	}
	if len(first) < 3 {
		t.Errorf("only %d names were compared: %v", len(first), first)
	}
}

func TestNamesAreLegalWhateverTheStackIsCalled(t *testing.T) {
	t.Parallel()
	for name, tmpl := range templates {
		families := map[any]bool{}
		for _, id := range tmpl.ofType("AWS::ECS::TaskDefinition") {
			family := tmpl.resource(t, id)["Family"].(string)
			if !strings.HasPrefix(family, "outposts-") || len(family) > 255 || families[family] {
				t.Errorf("%s: family %q", name, family)
			}
			families[family] = true
		}
		for _, id := range tmpl.ofType("AWS::SSM::Parameter") {
			if parameter := tmpl.resource(t, id)["Name"].(string); !strings.HasPrefix(parameter, "/outposts/") || len(parameter) > 900 {
				t.Errorf("%s: parameter %q", name, parameter)
			}
		}
	}
}

func TestEveryLogGroupForgetsInTheEnd(t *testing.T) {
	t.Parallel()
	for name, days := range map[string]float64{"default": 30, "fullest": 365} {
		tmpl := templates[name]
		for _, id := range tmpl.ofType("AWS::Logs::LogGroup") {
			if got := tmpl.resource(t, id)["RetentionInDays"]; got != days {
				t.Errorf("%s: log group %s keeps %v days", name, id, got)
			}
		}
		for _, id := range tmpl.ofType("AWS::Lambda::Function") {
			if tmpl.resource(t, id)["LoggingConfig"] == nil {
				t.Errorf("%s: function %s writes into a group that AWS makes, for ever", name, id)
			}
		}
	}
}

func TestStateGoesWithTheStackOrStaysAsChosen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"default": "Delete", "fullest": "Retain"} {
		tmpl := templates[name]
		for _, id := range slices.Concat(tmpl.ofType("AWS::DynamoDB::Table"), tmpl.ofType("AWS::KMS::Key"), tmpl.ofType("AWS::Logs::LogGroup")) {
			resource := tmpl.resources()[id].(map[string]any)
			if resource["DeletionPolicy"] != want || resource["UpdateReplacePolicy"] != want {
				t.Errorf("%s: %s has deletion policy %v and replacement policy %v", name, id, resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
			}
		}
	}
}

func TestFilesForAnotherProcessorOrNoneAreRefused(t *testing.T) {
	t.Parallel()
	wanted := load(configurations["default"])
	dist := t.TempDir()
	stubDist(dist, settings.X64)
	err := checkBuilt(dist, wanted)
	if err == nil || !strings.Contains(err.Error(), "is built for EM_X86_64, but is to run on arm64: run `export FUNCTION_ARCH=arm64; make build`") {
		t.Errorf("got %v", err)
	}
	stubDist(dist, settings.ARM64)
	if err := os.Remove(filepath.Join(dist, "worker", "outpost-worker-amd64")); err != nil {
		t.Fatal(err)
	}
	if err := checkBuilt(dist, wanted); err == nil || !strings.Contains(err.Error(), "run `make build` first") {
		t.Errorf("got %v", err)
	}
}
