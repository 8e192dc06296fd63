//go:build testaws

package testaws

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/devin-outposts/devin-outposts-aws/shared/lambdatest"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

const outpost = "outpost_env-testaws"

// site is the deployed stack with what stands around it: the fleet simulator for Devin, the local ECS for the cluster, and the built functions as processes.
type site struct {
	deployed
	dir    string
	fleet  *outpoststest.Server
	ecs    *ecstest.Server
	store  *lease.Dynamo
	queue  *sqs.Client
	events chan []byte
	run    map[string]*lambdatest.Function
}

func open(t *testing.T) *site {
	t.Helper()
	s := &site{dir: os.Getenv("SITE"), events: make(chan []byte, 1000), run: map[string]*lambdatest.Function{}}
	work := t.TempDir()
	path, err := outpoststest.BuildRemote(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.fleet = outpoststest.New(outpoststest.Options{Now: time.Now, Outposts: []string{outpost}, Binary: remote})
	t.Cleanup(s.fleet.Close)
	s.deployed = deploy(t, s.dir, s.fleet.Token())

	s.ecs, err = ecstest.New(ecstest.Options{
		Cluster: s.physical["Cluster"], Now: time.Now, OnEvent: func(event []byte) { s.events <- event }, Output: t.Output(),
		Definitions: map[string]ecstest.Definition{s.family: {
			// A container has a workspace of its own; here it is the directory that the task is started in.
			Command:  []string{"/bin/sh", "-c", `export OUTPOST_WORKDIR="$PWD" HOME="$PWD"; exec "$0"`, filepath.Join(s.dir, "dist", "worker", "outpost-worker-"+runtime.GOARCH)},
			WorkRoot: work, StopTimeout: 10 * time.Second, Tags: s.tags,
			Env: map[string]string{
				"PATH": os.Getenv("PATH"), "OUTPOST_MODE": "remote", "OUTPOST_ALLOW_SAME_USER": "true", "OUTPOST_STATIC_URL": s.fleet.StaticURL(), "OUTPOST_STOP_SECONDS": "8",
				"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": os.Getenv("MOTO_URL"), "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.ecs.Close)
	s.store = &lease.Dynamo{API: dynamodb.NewFromConfig(moto(t)), Table: s.physical["Leases"]}
	s.queue = sqs.NewFromConfig(moto(t))
	for name := range s.functions {
		s.run[name] = lambdatest.New(lambdatest.Config{
			Name: name, Binary: s.bootstrap(name), Env: s.environment(name), Timeout: time.Minute, Logs: t.Output(), Now: time.Now,
		})
		t.Cleanup(s.run[name].Close)
	}
	return s
}

func (s *site) bootstrap(name string) string {
	return filepath.Join(s.dir, "dist", "functions", name, "bootstrap")
}

// environment is the function's own, from the deployed stack, but for where the outside world is.
func (s *site) environment(name string) map[string]string {
	environment := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
		"AWS_ENDPOINT_URL": os.Getenv("MOTO_URL"), "AWS_ENDPOINT_URL_ECS": s.ecs.URL,
	}
	for key, value := range s.functions[name] {
		environment[key] = value
	}
	environment["DEVIN_API_URL"] = s.fleet.URL()
	environment["OFFER_QUEUE_URL"] = s.queueURL()
	return environment
}

// queueURL is the queue's where moto is; its CloudFormation names AWS's own host.
func (s *site) queueURL() string {
	return os.Getenv("MOTO_URL") + "/" + account + "/" + filepath.Base(s.physical["Offers"])
}

func (s *site) invoke(t *testing.T, name string, payload any) []byte {
	t.Helper()
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.run[name].Invoke(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// offers takes what waits in the offer queue, as Lambda's mapping would.
func (s *site) offers(t *testing.T) lambda.SQSEvent {
	t.Helper()
	got, err := s.queue.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(s.queueURL()), MaxNumberOfMessages: 5, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	batch := lambda.SQSEvent{Records: []lambda.SQSMessage{}}
	for _, m := range got.Messages {
		batch.Records = append(batch.Records, lambda.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes, EventSource: "aws:sqs"})
	}
	return batch
}

// deliver hands task events to observe until the context ends.
func (s *site) deliver(ctx context.Context, t *testing.T) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-s.events:
			if _, err := s.run["observe"].Invoke(ctx, event); err != nil && ctx.Err() == nil {
				t.Errorf("observe: %v", err)
			}
		}
	}
}
