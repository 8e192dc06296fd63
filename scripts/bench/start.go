package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/lambdatest"
	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

// workload is what each instance works on before its memory is read.
const (
	offersEach  = 25
	offersBatch = 5
	idleEach    = 5
)

// start measures how long each function takes from its start to its first request for an invocation, and how much memory it uses at most.
func start(ctx context.Context, o options) ([]table, error) {
	dir, err := os.MkdirTemp("", "outposts-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	idle := func(ctx context.Context, _ map[string]string) int { <-ctx.Done(); return 30 }
	l, err := laptop.New(ctx, laptop.Options{Now: time.Now, MaxSessions: offersEach * o.Starts, Stub: idle, Starting: time.Microsecond})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	env := map[string]string{}
	for _, kv := range l.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	t := table{Bench: "start", Title: fmt.Sprintf("%d instances of each function, built for this machine, under a Lambda runtime API", o.Starts),
		Notes: []string{"Aims: 100 ms to the first request for an invocation, 64 MB of memory at most.",
			fmt.Sprintf("Memory is the largest resident size over %d offers in batches of %d (claim), %d runs over the sessions launched so far (poll, sweep) or as many events (observe).", offersEach, offersBatch, idleEach)}}
	for _, name := range []string{"claim", "poll", "sweep", "observe"} {
		binary := filepath.Join(dir, name)
		if err := build(ctx, name, binary); err != nil {
			return nil, err
		}
		reports, memory, err := startInstances(ctx, o.Starts, lambdatest.Config{Name: name, Binary: binary, Env: env, Timeout: time.Minute, Now: time.Now}, l)
		if err != nil {
			return nil, err
		}
		var init []time.Duration
		for _, r := range reports {
			init = append(init, r.Init)
		}
		t.Rows = append(t.Rows, row{name, []figure{milliseconds("first", init[0]), milliseconds("median", slices.Sorted(slices.Values(init))[len(init)/2]),
			milliseconds("worst", slices.Max(init)), megabytes("peak memory", memory)}})
	}
	return []table{t}, nil
}

// build builds a function as scripts/build.sh does, but for this machine unless the environment says another.
func build(ctx context.Context, name, out string, environ ...string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid= -X main.version=bench", "-o", out,
		"github.com/devin-outposts/devin-outposts-aws/functions/"+name+"/lambda")
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environ...)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s (run this inside the project, with Go on the PATH): %w\n%s", name, err, text)
	}
	return nil
}

// startInstances starts one instance after the other, each fresh, and lets each work. It answers the largest memory of any.
func startInstances(ctx context.Context, n int, c lambdatest.Config, l *laptop.Laptop) (reports []lambdatest.Report, memory int64, err error) {
	for i := range n {
		f := lambdatest.New(c)
		for _, payload := range payloads(c.Name, i, l) {
			if _, err := f.Invoke(ctx, payload); err != nil {
				f.Close()
				return nil, 0, err
			}
		}
		memory = max(memory, residentPeak(c.Binary))
		f.Close()
		reports = append(reports, f.Reports()...)
	}
	return reports, memory, nil
}

// payloads are what an instance works on.
func payloads(function string, instance int, l *laptop.Laptop) (list [][]byte) {
	switch function {
	case "claim":
		for i := range offersEach / offersBatch {
			var batch lambda.SQSEvent
			for j := range offersBatch {
				id := fmt.Sprintf("devin-%d-%d", instance, i*offersBatch+j)
				l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
				batch.Records = append(batch.Records, lambda.SQSMessage{MessageId: id, Body: string(marshal(events.NewOffer(laptop.Outpost, id, time.Now())))})
			}
			list = append(list, marshal(batch))
		}
	case "observe":
		for _, t := range l.ECS.Tasks()[:idleEach] {
			var o events.ContainerOverride
			o.Name = "worker"
			for name, value := range t.Env {
				o.Environment = append(o.Environment, events.Variable{Name: name, Value: value})
			}
			list = append(list, marshal(events.TaskStateChange{Source: events.TaskSource, DetailType: events.TaskDetailType, Detail: events.Task{
				ClusterARN: "arn:aws:ecs:us-east-1:123456789012:cluster/outposts", TaskARN: t.ARN, TaskDefinitionARN: t.Definition, LastStatus: "RUNNING", DesiredStatus: "RUNNING",
				Overrides: events.Overrides{Containers: []events.ContainerOverride{o}}}}))
		}
	default:
		for range idleEach {
			list = append(list, []byte("{}"))
		}
	}
	return list
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types always marshal
	}
	return text
}
