package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"golang.org/x/sync/errgroup"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

const (
	outpostID = "outpost_env-bench"
	acceptor  = "bench"
)

// world is an outpost with n sessions that run, in memory. Its ports count their calls.
type world struct {
	n     int
	store *countingStore
	fleet *memoryFleet
	ecs   *memoryECS
}

// newWorld makes n running sessions whose claims were made so long ago, and whose tasks and queue entries are as they should be.
func newWorld(n int, claimAge time.Duration, now time.Time) *world {
	w := &world{n: n, store: &countingStore{Memory: &lease.Memory{}}, fleet: &memoryFleet{now: now, entries: map[string]outposts.Entry{}}, ecs: &memoryECS{tasks: map[string]types.Task{}}}
	at := now.UTC().Add(-claimAge)
	for i := range n {
		id := fmt.Sprintf("devin-%06d", i)
		l := session.Lease{Schema: session.SchemaVersion, SessionID: id, OutpostID: outpostID, State: session.Reserved, Epoch: rand.Text(), Rev: 1, Attempt: 1,
			TaskARN: "arn:aws:ecs:us-east-1:123456789012:task/outposts/" + id, Capacity: "fargate", ClaimedAt: at, ClaimUntil: at.Add(5 * time.Minute),
			Ciphertext: string(make([]byte, 512)), GatewayURL: "wss://gateway.example/session", LaunchUntil: at, Deadline: now.UTC().Add(time.Hour), ConnectedAt: at, ReservedAt: at,
			StateAt: at, UpdatedAt: at}
		must(w.store.Memory.Reserve(context.Background(), l, n))
		l.State, l.Rev = session.Running, 2
		must(w.store.Memory.Save(context.Background(), l))
		w.fleet.order = append(w.fleet.order, id)
		w.fleet.entries[id] = outposts.Entry{SessionID: id, OutpostID: outpostID, CreatedAt: at, Kind: outposts.KindNew, Platform: outposts.PlatformLinux,
			Phase: outposts.PhaseClaimed, AcceptorID: acceptor, ClaimDeadline: l.ClaimUntil, Status: outposts.StatusRunning}
		w.ecs.order = append(w.ecs.order, l.TaskARN)
		w.ecs.tasks[l.TaskARN] = runningTask(l)
	}
	must(w.store.Memory.Note(context.Background(), outpostID))
	must(w.store.Memory.Polled(context.Background(), outpostID, now, time.Time{}))
	return w
}

func runningTask(l session.Lease) types.Task {
	variable := func(name, value string) types.KeyValuePair {
		return types.KeyValuePair{Name: aws.String(name), Value: aws.String(value)}
	}
	return types.Task{TaskArn: aws.String(l.TaskARN), TaskDefinitionArn: aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/bench:1"), LastStatus: aws.String("RUNNING"),
		DesiredStatus: aws.String("RUNNING"), Version: 3, CreatedAt: aws.Time(l.StateAt), Overrides: &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{Name: aws.String("worker"),
			Environment: []types.KeyValuePair{variable(tasks.EnvSession, l.SessionID), variable(tasks.EnvOutpost, l.OutpostID), variable(tasks.EnvAttempt, l.AttemptID()),
				variable("OUTPOST_GATEWAY_URL", l.GatewayURL), variable("OUTPOST_CONNECT_TOKEN_CIPHERTEXT", l.Ciphertext)}}}}}
}

func must(err error) {
	if err != nil {
		panic(err) // a store in memory refuses only a mistake made here
	}
}

// kit wires a function to the world.
func (w *world) kit(now func() time.Time, logs io.Writer) functions.Kit {
	o := config.Outpost{ID: outpostID, MaxSessions: w.n, MaxFailures: 3, MaxAge: 24 * time.Hour, Capacity: []config.Capacity{{Name: "fargate", Provider: "FARGATE", TaskDefinition: "bench:1", Container: "worker"}}}
	return functions.Kit{AcceptorID: acceptor, Outposts: func(context.Context) ([]config.Outpost, error) { return []config.Outpost{o}, nil },
		Fleet: func(config.Outpost) functions.Fleet { return w.fleet }, Tasks: func([]config.Outpost) functions.Tasks { return tasks.New(w.ecs, "outposts", "bench") },
		Store: w.store, Offers: noOffers{}, Sealer: noSealer{}, Clock: clock(now), Jitter: func() float64 { return 0.5 }, NewID: rand.Text, FanOut: fanOut,
		Log: slog.New(slog.NewJSONHandler(logs, nil)), Metrics: &telemetry.Recorder{AcceptorID: acceptor, Now: now, Out: logs}}
}

func fanOut(n, atOnce int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error { do(i); return nil })
	}
	_ = g.Wait() // do answers no error
}

type clock func() time.Time

func (c clock) Now() time.Time { return c().UTC() }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var errUnexpected = errors.New("the benchmark's world has no such call")

type noOffers struct{}

func (noOffers) Send(_ context.Context, list []events.Offer) error {
	if len(list) > 0 {
		return errUnexpected
	}
	return nil
}

type noSealer struct{}

func (noSealer) Seal(context.Context, string, string, outposts.Secret) (string, error) {
	return "", errUnexpected
}

// countingStore is the store in memory, counting.
type countingStore struct {
	*lease.Memory
	gets, saves atomic.Int64
}

func (s *countingStore) Get(ctx context.Context, id string) (*session.Lease, error) {
	s.gets.Add(1)
	return s.Memory.Get(ctx, id)
}

func (s *countingStore) Save(ctx context.Context, to session.Lease) error {
	s.saves.Add(1)
	return s.Memory.Save(ctx, to)
}

func (s *countingStore) reads() int  { return int(s.gets.Load()) }
func (s *countingStore) writes() int { return int(s.saves.Load()) }

// memoryFleet is the fleet API.
type memoryFleet struct {
	now            time.Time
	order          []string
	entries        map[string]outposts.Entry // never written after it was made
	listed, gotten atomic.Int64
	claimed        atomic.Int64
}

// perPage is how many entries outposts.Client asks for in a page.
const perPage = 200

func (f *memoryFleet) List(_ context.Context, q outposts.ListQuery) (outposts.Listing, error) {
	var l outposts.Listing
	for _, id := range f.order {
		if e := f.entries[id]; e.Phase == q.Phase || q.Phase == "" {
			l.Entries = append(l.Entries, e)
		}
	}
	f.listed.Add(int64(max(1, (len(l.Entries)+perPage-1)/perPage)))
	return l, nil
}

func (f *memoryFleet) Get(_ context.Context, id string) (outposts.Entry, error) {
	f.gotten.Add(1)
	if e, ok := f.entries[id]; ok {
		return e, nil
	}
	return outposts.Entry{}, outposts.ErrNotFound
}

func (f *memoryFleet) Claim(_ context.Context, id, _ string) (outposts.Claim, error) {
	f.claimed.Add(1)
	return outposts.Claim{Entry: f.entries[id], ConnectToken: "token", GatewayURL: "wss://gateway.example/session", Life: 5 * time.Minute}, nil
}

func (f *memoryFleet) Release(context.Context, string, string) error { return errUnexpected }

func (f *memoryFleet) pages() int  { return int(f.listed.Load()) }
func (f *memoryFleet) claims() int { return int(f.claimed.Load()) }

// memoryECS is ECS: it lists in pages and describes in batches, as AWS does.
type memoryECS struct {
	order             []string
	tasks             map[string]types.Task // never written after it was made
	listed, described atomic.Int64
}

func (e *memoryECS) ListTasks(_ context.Context, in *ecs.ListTasksInput, _ ...func(*ecs.Options)) (*ecs.ListTasksOutput, error) {
	e.listed.Add(1)
	if in.DesiredStatus == types.DesiredStatusStopped {
		return &ecs.ListTasksOutput{}, nil
	}
	from, _ := strconv.Atoi(aws.ToString(in.NextToken)) // empty = the beginning
	to := min(from+100, len(e.order))
	out := &ecs.ListTasksOutput{TaskArns: slices.Clone(e.order[from:to])}
	if to < len(e.order) {
		out.NextToken = aws.String(strconv.Itoa(to))
	}
	return out, nil
}

func (e *memoryECS) DescribeTasks(_ context.Context, in *ecs.DescribeTasksInput, _ ...func(*ecs.Options)) (*ecs.DescribeTasksOutput, error) {
	e.described.Add(1)
	out := &ecs.DescribeTasksOutput{Tasks: make([]types.Task, 0, len(in.Tasks))}
	for _, arn := range in.Tasks {
		out.Tasks = append(out.Tasks, e.tasks[arn])
	}
	return out, nil
}

func (e *memoryECS) RunTask(context.Context, *ecs.RunTaskInput, ...func(*ecs.Options)) (*ecs.RunTaskOutput, error) {
	return nil, errUnexpected
}

func (e *memoryECS) StopTask(context.Context, *ecs.StopTaskInput, ...func(*ecs.Options)) (*ecs.StopTaskOutput, error) {
	return nil, errUnexpected
}

func (e *memoryECS) lists() int     { return int(e.listed.Load()) }
func (e *memoryECS) describes() int { return int(e.described.Load()) }
