package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"
)

// cloudFormation answers DescribeStacks as AWS does, for one stack.
func cloudFormation(t *testing.T, stack string, outputs map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		if name := r.FormValue("StackName"); r.FormValue("Action") != "DescribeStacks" || name != stack {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>`, name)
			return
		}
		var members strings.Builder
		for key, value := range outputs {
			fmt.Fprintf(&members, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", key, value)
		}
		fmt.Fprintf(w, `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>%s</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-05-04T03:02:01Z</CreationTime><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`, stack, &members)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// deployed turns the bundle's environment into a stack with outputs, so that the functions' variables are no longer there.
func (b *bundle) deployed(stack string, change func(outputs map[string]string)) {
	b.t.Helper()
	parameter := "/outposts/" + b.variable("LEASE_TABLE")
	client := ssm.NewFromConfig(aws.Config{Region: b.variable("AWS_REGION"), BaseEndpoint: aws.String(b.variable("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	_, err := client.PutParameter(b.ctx, &ssm.PutParameterInput{Name: &parameter, Type: types.ParameterTypeString,
		Value: aws.String(strings.TrimSuffix(strings.TrimPrefix(b.variable("OUTPOSTS"), "["), "]"))})
	b.must(err)
	outputs := map[string]string{"AcceptorId": b.variable("ACCEPTOR_ID"), "ClusterName": b.variable("CLUSTER"), "LeaseTableName": b.variable("LEASE_TABLE"),
		"OfferQueueUrl": b.variable("OFFER_QUEUE_URL"), "TokenKeyArn": b.variable("TOKEN_KEY_ID"), "OutpostsParameters": parameter, "ApiUrl": b.variable("DEVIN_API_URL")}
	if change != nil {
		change(outputs)
	}
	url := cloudFormation(b.t, stack, outputs)
	b.Env = append(slices.DeleteFunc(slices.Clone(b.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !strings.HasPrefix(name, "AWS_")
	}), "AWS_ENDPOINT_URL_CLOUDFORMATION="+url)
}

const shown = `OUTPOST SLOTS TAKES LAST POLL OLDEST WAITS BREAKERS
outpost_env-demo 0/3 yes - - -

No session holds a slot.
`

func TestDeploymentIsFoundByItsStacksOutputs(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.deployed("my-outposts", nil)
	r := b.ctl("--stack", "my-outposts", "status")
	r.succeeds(t)
	if diff := cmp.Diff(shown, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	b.ctl("status").fails(t, `there is no CloudFormation stack "devin-outposts" in us-east-1: name it with --stack, and its region with AWS_REGION`)
}

func TestDeploymentIsFoundByTheNameThatTheProjectGivesIt(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.deployed("named", nil)
	c := b.command(nil, "status")
	b.must(os.WriteFile(filepath.Join(c.Dir, "cdk.json"), []byte(`{"app": "x", "context": {"stackName": "named"}}`), 0o600))
	r := b.outcome(c)
	r.succeeds(t)
	if diff := cmp.Diff(shown, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestStackThatIsNotOursIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.deployed("other", func(outputs map[string]string) { delete(outputs, "LeaseTableName"); delete(outputs, "TokenKeyArn") })
	b.ctl("--stack", "other", "status").fails(t, "stack other has no output LeaseTableName, TokenKeyArn: it is no stack of this project, or its deployment is not finished; name another with --stack")
}

func TestApiAddressCanBeGivenByHand(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	api := b.variable("DEVIN_API_URL")
	b.deployed("stack", func(outputs map[string]string) { outputs["ApiUrl"] = "http://127.0.0.1:1" })
	b.enqueue(1)
	r := b.ctl("--stack", "stack", "--api-url", api, "session", "devin-1")
	r.succeeds(t)
	if !strings.Contains(steady(r.out), "queue entry pending, session pending, new on linux") {
		t.Errorf("%s", r.out)
	}
}

func TestEnvironmentErrorsAreToldOneALine(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	r := b.outcome(b.command([]string{"CLUSTER=", "TOKEN_KEY_ID="}, "status"))
	want := "outpostctl: CLUSTER is missing; give the ARN of the ECS cluster\noutpostctl: TOKEN_KEY_ID is missing; give the id of the KMS key for connect tokens\n"
	if diff := cmp.Diff(result{"", want, 1}, r, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestMissingRegionAndCredentialsAreToldApart(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.outcome(b.command([]string{"AWS_REGION="}, "status")).fails(t, "no AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile that has one")
	b.outcome(b.command([]string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, "status")).fails(t,
		"no AWS credentials were found: sign in as for the AWS CLI (`aws configure`, `aws sso login`), or set AWS_PROFILE")
}

func TestHelpIsThereForEveryCommand(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	for _, command := range []string{"status", "session", "doctor", "drain", "resume", "stop"} {
		r := b.ctl(command, "--help")
		if r.code != 0 || !strings.HasPrefix(r.out, "Usage: outpostctl "+command) || !strings.Contains(r.out, "--stack") {
			t.Errorf("%s --help: exit %d: %s", command, r.code, r.out)
		}
	}
}
