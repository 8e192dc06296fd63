package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/offers"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/google/go-cmp/cmp"
)

// mute listens, takes every connection, and never answers. It counts the connections: without an answer none is used twice.
func mute(t *testing.T) (clients aws.Config, taken *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	taken = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken.Add(1)
			go func() { _, _ = io.Copy(io.Discard, c); c.Close() }() // until the other side gives up
		}
	}()
	return aws.Config{Region: "eu-west-1", BaseEndpoint: aws.String("http://" + l.Addr().String()), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, taken
}

// short is the usual patience, twenty times as quick.
var short = patience{connect: usual.connect / 20, attempt: usual.attempt / 20, attempts: usual.attempts, pause: usual.pause / 20, call: usual.call / 20}

func TestNoServiceThatHangsIsWaitedForLongerThanTheCallsTime(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, aws.Config) error{
		"dynamodb": func(ctx context.Context, c aws.Config) error {
			_, err := dynamodb.NewFromConfig(c).ListTables(ctx, &dynamodb.ListTablesInput{})
			return err
		},
		"ecs": func(ctx context.Context, c aws.Config) error {
			_, err := ecs.NewFromConfig(c).ListTasks(ctx, &ecs.ListTasksInput{})
			return err
		},
		"eventbridge": func(ctx context.Context, c aws.Config) error {
			_, err := eventbridge.NewFromConfig(c).ListRules(ctx, &eventbridge.ListRulesInput{})
			return err
		},
		"kms": func(ctx context.Context, c aws.Config) error {
			_, err := kms.NewFromConfig(c).ListKeys(ctx, &kms.ListKeysInput{})
			return err
		},
		"secretsmanager": func(ctx context.Context, c aws.Config) error {
			_, err := secretsmanager.NewFromConfig(c).ListSecrets(ctx, &secretsmanager.ListSecretsInput{})
			return err
		},
		"sqs": func(ctx context.Context, c aws.Config) error {
			_, err := sqs.NewFromConfig(c).ListQueues(ctx, &sqs.ListQueuesInput{})
			return err
		},
		"ssm": func(ctx context.Context, c aws.Config) error {
			_, err := ssm.NewFromConfig(c).GetParameters(ctx, &ssm.GetParametersInput{Names: []string{"a"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients, taken := mute(t)
			began := time.Now()
			if err := call(t.Context(), short.bound(clients)); err == nil {
				t.Error("a service that never answers was taken for one that did")
			}
			if took := time.Since(began); took < short.attempt || took > 5*short.call {
				t.Errorf("gave up after %s, want about %s", took, short.call)
			}
			if n := taken.Load(); n < 2 || n > 3 {
				t.Errorf("%d attempts, want two or three", n)
			}
		})
	}
}

func TestRunTaskThatHangsIsSentOnceAndUnclear(t *testing.T) {
	t.Parallel()
	clients, taken := mute(t)
	launch := tasks.Launch{TaskDefinition: "worker:1", Container: "worker", Provider: "FARGATE", OutpostID: "o", SessionID: "devin-1", GatewayURL: "wss://g", Ciphertext: "c",
		AttemptID: "a"}
	try := tasks.New(ecs.NewFromConfig(short.bound(clients)), "outposts", "worker:1").Run(t.Context(), launch)
	if try.Kind != session.Unclear || taken.Load() != 1 {
		t.Errorf("got %+v after %d attempts, want it unclear after one", try, taken.Load())
	}
}

func TestCallsAreOverInTheTimeThatAStepOfADriveMayTake(t *testing.T) {
	t.Parallel()
	if usual.call >= functions.WorstCall || 2*(usual.attempt+usual.pause) > usual.call+usual.pause || usual.connect >= usual.attempt {
		t.Errorf("%+v does not fit into %s", usual, functions.WorstCall)
	}
}

func TestFunctionsAreWiredWithThatPatience(t *testing.T) {
	t.Parallel()
	kit := New(config.Env{}, aws.Config{Region: "eu-west-1"}, Function{Now: time.Now, Out: io.Discard})
	for name, client := range map[string]aws.HTTPClient{
		"dynamodb":    kit.Store.(*lease.Dynamo).API.(*dynamodb.Client).Options().HTTPClient,
		"eventbridge": kit.Teller.(teller).api.(*eventbridge.Client).Options().HTTPClient,
		"kms":         kit.Sealer.(seal.Sealer).API.(*kms.Client).Options().HTTPClient,
		"sqs":         kit.Offers.(offers.Queue).API.(*sqs.Client).Options().HTTPClient,
	} {
		if got := client.(*awshttp.BuildableClient).GetTimeout(); got != usual.attempt {
			t.Errorf("an attempt of %s may take %s, want %s", name, got, usual.attempt)
		}
	}
}

type callersOwn struct{ aws.HTTPClient }

func TestCallersOwnHTTPClientIsKeptAndTheSDKsIsBound(t *testing.T) {
	t.Parallel()
	own := callersOwn{http.DefaultClient}
	if got := usual.bound(aws.Config{HTTPClient: own}).HTTPClient; got != aws.HTTPClient(own) {
		t.Errorf("the caller's client became %T", got)
	}
	mark := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConns = 7 })
	for name, given := range map[string]aws.HTTPClient{"none": nil, "the SDK's": mark} {
		got, ok := usual.bound(aws.Config{HTTPClient: given}).HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			t.Errorf("%s: not the SDK's client", name)
			continue
		}
		tr := got.GetTransport()
		times := []time.Duration{got.GetTimeout(), got.GetDialer().Timeout, tr.TLSHandshakeTimeout, tr.ResponseHeaderTimeout}
		if diff := cmp.Diff([]time.Duration{5 * time.Second, 2 * time.Second, 2 * time.Second, 5 * time.Second}, times); diff != "" || (given == mark && tr.MaxIdleConns != 7) {
			t.Errorf("%s: %s; %d idle connections", name, diff, tr.MaxIdleConns)
		}
	}
}
