// Package laptop is the whole product on one machine's loopback: a simulated fleet service, an emulated AWS (kumo) and a local ECS outside; inside, the four functions
// as Lambda would run them, fed by the schedule, the queue and the task events. The demo shows it, and tests drive it by hand.
package laptop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
	"github.com/sivchari/kumo"
)

// Names of the one outpost, its deployment and its worker.
const (
	Outpost    = outpoststest.DefaultOutpost
	AcceptorID = "laptop"
	family     = "laptop-worker"
	region     = ecstest.Region
)

// The capacity providers, in the order in which they are tried.
const (
	Spot    = "FARGATE_SPOT"
	Fargate = "FARGATE"
)

// Options are a laptop's. Now and one of Worker and Stub are required.
type Options struct {
	Now         func() time.Time
	MaxSessions int                                                 // 0 = 3
	MaxFailures int                                                 // 0 = 3
	Worker      string                                              // path of the outpost-worker that each task runs
	Remote      string                                              // path of the devin-remote that the fleet distributes
	Stub        func(context.Context, map[string]string) (exit int) // runs in place of Worker
	Dir         string                                              // for the tasks' workspaces; required with Worker
	Fleet       outpoststest.Options                                // Now, Binary and Outposts are filled in
	Functions   string                                              // folder of built functions to run under a Lambda runtime API; empty = in-process
	Watch       bool                                                // dispatch by watch: an invocation of poll goes on for minutes
	ListEvery   time.Duration                                       // between listings beside a stream; 0 = 20 s
	PollEvery   time.Duration                                       // 0 = 1 s
	Starting    time.Duration                                       // how long a task takes to start; 0 = 100 ms
	SweepEvery  time.Duration                                       // 0 = 2 s
	Logs        io.Writer                                           // the functions' log lines; nil = nowhere
	TaskOutput  io.Writer                                           // the workers' output; nil = nowhere
	Configure   func(outpost map[string]any)                        // changes the outpost's configuration before it is used; nil = as it is
}

// Laptop is the running whole.
type Laptop struct {
	Fleet *outpoststest.Server
	ECS   *ecstest.Server
	Store lease.Store
	Env   []string // the functions' environment

	o        Options
	queue    *sqs.Client
	queueURL string
	invoke   invoker
	events   chan []byte
	clients  aws.Config
	mu       sync.Mutex
	faults   []error // what the functions answered that was no success
}

var (
	emulator = sync.OnceValue(kumo.NewServer) // one state per process, whatever the server
	made     atomic.Int64
)

// New starts everything but the loops, which Run runs.
func New(ctx context.Context, o Options) (*Laptop, error) {
	o.defaults()
	l := &Laptop{o: o, events: make(chan []byte, 4096)}
	base := emulator().URL
	l.clients = aws.Config{Region: region, HTTPClient: ecstest.WholeAnswers(), BaseEndpoint: aws.String(base), Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	n := fmt.Sprintf("%d-%d", os.Getpid(), made.Add(1))
	if err := l.startFleet(); err != nil {
		return nil, err
	}
	if err := l.startECS(base); err != nil {
		l.Fleet.Close()
		return nil, err
	}
	if err := l.makeResources(ctx, base, n); err != nil {
		l.Close()
		return nil, err
	}
	if err := l.startFunctions(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (o *Options) defaults() {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.MaxSessions, 3)
	set(&o.MaxFailures, 3)
	if o.Starting == 0 {
		o.Starting = 100 * time.Millisecond
	}
	if o.PollEvery == 0 {
		o.PollEvery = time.Second
	}
	if o.SweepEvery == 0 {
		o.SweepEvery = 2 * time.Second
	}
	if o.Logs == nil {
		o.Logs = io.Discard
	}
}

func (l *Laptop) startFleet() error {
	f := l.o.Fleet
	f.Now, f.Outposts = l.o.Now, []string{Outpost}
	if l.o.Remote != "" {
		binary, err := os.ReadFile(l.o.Remote)
		if err != nil {
			return fmt.Errorf("read devin-remote: %w", err)
		}
		f.Binary = binary
	}
	l.Fleet = outpoststest.New(f)
	return nil
}

func (l *Laptop) startECS(base string) error {
	d := ecstest.Definition{Family: family, Container: "worker", StopTimeout: 10 * time.Second, Stub: l.o.Stub}
	if l.o.Stub == nil {
		d.WorkRoot = filepath.Join(l.o.Dir, "workspaces")
		if err := os.MkdirAll(d.WorkRoot, 0o755); err != nil {
			return fmt.Errorf("make the workspaces: %w", err)
		}
		// A container has a workspace of its own; here it is the directory that the task is started in.
		d.Command = []string{"/bin/sh", "-c", `export OUTPOST_WORKDIR="$PWD" HOME="$PWD"; exec "$0"`, l.o.Worker}
		d.Env = map[string]string{"PATH": os.Getenv("PATH"), "OUTPOST_MODE": "remote", "OUTPOST_ALLOW_SAME_USER": "true", "OUTPOST_STATIC_URL": l.Fleet.StaticURL(),
			"OUTPOST_STOP_SECONDS": "8", "AWS_REGION": region, "AWS_ENDPOINT_URL": base, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
	}
	server, err := ecstest.New(ecstest.Options{Definitions: map[string]ecstest.Definition{family + ":1": d}, Now: l.o.Now, Output: l.o.TaskOutput,
		OnEvent: func(event []byte) { l.events <- event }, Provisioning: l.o.Starting / 2, Pending: l.o.Starting / 2})
	l.ECS = server
	return err
}

// makeResources makes what the stack makes in an account, and the functions' environment.
func (l *Laptop) makeResources(ctx context.Context, base, n string) error {
	table := "leases-" + n
	db := dynamodb.NewFromConfig(l.clients, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })
	if err := lease.CreateTable(ctx, db, table); err != nil {
		return err
	}
	l.Store = &lease.Dynamo{API: db, Table: table}
	l.queue = sqs.NewFromConfig(l.clients)
	q, err := l.queue.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("offers-" + n), Attributes: map[string]string{"VisibilityTimeout": "5"}})
	if err != nil {
		return fmt.Errorf("create offer queue: %w", err)
	}
	l.queueURL = *q.QueueUrl
	secret := "token-" + n
	_, err = secretsmanager.NewFromConfig(l.clients).CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &secret, SecretString: aws.String(l.Fleet.Token())})
	if err != nil {
		return fmt.Errorf("create secret: %w", err)
	}
	key, err := kms.NewFromConfig(l.clients).CreateKey(ctx, &kms.CreateKeyInput{})
	if err != nil {
		return fmt.Errorf("create key: %w", err)
	}
	outpost := map[string]any{"outpost_id": Outpost, "token_secret": secret, "max_sessions": l.o.MaxSessions, "max_failures": l.o.MaxFailures, "dispatch": map[bool]string{true: "watch", false: "poll"}[l.o.Watch],
		"capacity": []any{choice("fargate-spot", Spot), choice("fargate", Fargate)}}
	if l.o.Configure != nil {
		l.o.Configure(outpost)
	}
	list, err := json.Marshal([]any{outpost})
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	l.Env = []string{"OUTPOSTS=" + string(list), "DEVIN_API_URL=" + l.Fleet.URL(), "ACCEPTOR_ID=" + AcceptorID, "LEASE_TABLE=" + table,
		"OFFER_QUEUE_URL=" + l.queueURL, "CLUSTER=outposts", "TOKEN_KEY_ID=" + *key.KeyMetadata.KeyId, "AWS_ENDPOINT_URL=" + base,
		"AWS_ENDPOINT_URL_ECS=" + l.ECS.URL, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local"}
	return nil
}

// choice is a capacity choice of the laptop's one task definition.
func choice(name, provider string) map[string]any {
	return map[string]any{"name": name, "provider": provider, "task_definition": family + ":1", "container": "worker",
		"subnets": []string{"subnet-1"}, "security_groups": []string{"sg-1"}, "assign_public_ip": true}
}

// Close ends every task and frees the ports.
func (l *Laptop) Close() {
	if l.invoke != nil {
		l.invoke.close()
	}
	if l.ECS != nil {
		l.ECS.Close()
	}
	l.Fleet.Close()
}

// Faults are the errors that functions answered, in order.
func (l *Laptop) Faults() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.faults...)
}

func (l *Laptop) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, err)
}
