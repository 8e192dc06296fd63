// Package wire makes the functions' parts from AWS clients and the environment, and starts a function under Lambda.
package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
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
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
	"golang.org/x/sync/errgroup"
)

// Function says which function is wired.
type Function struct {
	Name    string
	Version string
	Now     func() time.Time
	Out     io.Writer // logs and metrics, one JSON line each
	ECSURL  string    // another endpoint for ECS alone; empty = as the AWS configuration says
}

// Start runs a function under Lambda's runtime until the process is ended. Bad configuration gives one line per error on standard error and exit code 1, before the
// first event is asked for.
func Start(f Function, handler func(functions.Kit) any) {
	ctx := context.Background()
	kit, err := fromEnvironment(ctx, f)
	if err != nil {
		for _, line := range config.Lines(err) {
			fmt.Fprintln(os.Stderr, f.Name+": "+line)
		}
		os.Exit(1)
	}
	lambda.Start(handler(kit))
}

func fromEnvironment(ctx context.Context, f Function) (functions.Kit, error) {
	env, err := config.Load(os.Environ())
	if err != nil {
		return functions.Kit{}, err
	}
	clients, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return functions.Kit{}, fmt.Errorf("AWS configuration: %w", err)
	}
	kit := New(env, clients, f)
	if _, err := kit.Outposts(ctx); err != nil {
		return functions.Kit{}, err
	}
	return kit, nil
}

// New wires a function's parts. No call to AWS takes longer than 11 s, none of its at most three attempts longer than 5 s; an HTTP client of the caller's own that is
// not the SDK's is used as it is.
func New(env config.Env, clients aws.Config, f Function) functions.Kit {
	clients = usual.bound(clients)
	log := telemetry.NewLogger(f.Out, f.Name, os.Getenv("LOG_LEVEL"))
	source := &config.Source{Env: env, SSM: ssm.NewFromConfig(clients), Now: f.Now}
	keys := &tokens{api: secretsmanager.NewFromConfig(clients), now: f.Now, all: map[string]*token{}}
	ecsClient := ecs.NewFromConfig(clients, func(o *ecs.Options) {
		if f.ECSURL != "" {
			o.BaseEndpoint = aws.String(f.ECSURL)
		}
	})
	web := &http.Client{Transport: outposts.Transport()}
	clock := clock{f.Now}
	kit := functions.Kit{
		AcceptorID: env.AcceptorID,
		Outposts:   source.Outposts,
		Sealer:     seal.Sealer{API: kms.NewFromConfig(clients), KeyID: env.KeyID},
		Offers:     offers.Queue{API: sqs.NewFromConfig(clients), URL: env.QueueURL},
		Teller:     teller{eventbridge.NewFromConfig(clients), log},
		Clock:      clock,
		Jitter:     mathrand.Float64,
		NewID:      rand.Text,
		FanOut:     fanOut,
		Log:        log,
		Metrics:    &telemetry.Recorder{AcceptorID: env.AcceptorID, Now: f.Now, Out: f.Out},
	}
	kit.Store = &lease.Dynamo{Table: env.Table, Pause: clock.pause, API: dynamodb.NewFromConfig(clients, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = true // TLS guards the answers, and emulators send no checksum
	})}
	fleet := func(o config.Outpost) *outposts.Client {
		return outposts.New(outposts.Options{BaseURL: env.APIURL, Token: keys.source(o.TokenSecret), HTTP: web, Now: f.Now, UserAgent: "devin-outposts-aws/" + f.Version})
	}
	kit.Fleet = func(o config.Outpost) functions.Fleet { return fleet(o) }
	kit.Watcher = func(o config.Outpost) functions.Watcher { return fleet(o) }
	kit.Tasks = func(list []config.Outpost) functions.Tasks {
		var ours []string
		for _, o := range list {
			for _, c := range o.Capacity {
				ours = append(ours, c.TaskDefinition)
			}
		}
		return tasks.New(ecsClient, env.Cluster, ours...)
	}
	return kit
}

// fanOut runs do for each index, at most so many at once, and waits.
func fanOut(n, atOnce int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(max(1, atOnce))
	for i := range n {
		g.Go(func() error { do(i); return nil })
	}
	_ = g.Wait() // do answers no error
}

// clock is the machine's.
type clock struct{ now func() time.Time }

func (c clock) Now() time.Time { return c.now().UTC() }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// pause waits before a transaction that met another one is tried again: 20 ms at first, doubling to a second, each with full jitter.
func (c clock) pause(ctx context.Context, try int) error {
	limit := min(20*time.Millisecond<<min(try-1, 6), time.Second)
	return c.Sleep(ctx, time.Duration(mathrand.Int64N(int64(limit))))
}
