package ecstest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// TestMain is also the program that the tasks of these tests run.
func TestMain(m *testing.M) {
	switch os.Getenv("CHILD") {
	case "":
		os.Exit(m.Run())
	case "exit":
		code, err := strconv.Atoi(os.Getenv("CODE"))
		if err != nil {
			os.Exit(99)
		}
		os.Exit(code)
	case "environment":
		fmt.Println(strings.Join(os.Environ(), " "))
		here, _ := os.Getwd()
		fmt.Print("in " + here) // no end of line
		syscall.Exit(0)         // without what a test binary has to say at its end
	case "polite":
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		fmt.Println("ready")
		<-terminated
		os.Exit(30)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		select {}
	case "parent":
		child := exec.Command(os.Args[0])
		child.Env = []string{"CHILD=stubborn"}
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println("grandchild", child.Process.Pid)
		os.Exit(0)
	}
}

// lines is an output that can be waited on.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *lines) await(t *testing.T, part string) string {
	t.Helper()
	for {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, part) {
			return text
		}
		select {
		case <-l.more:
		case <-t.Context().Done():
			t.Fatalf("no %q in %q", part, text)
		case <-time.After(20 * time.Second):
			t.Fatalf("no %q in %q", part, text)
		}
	}
}

// bench is a server with one definition, family worker, and a client of it.
type bench struct {
	*ecstest.Server
	sdk *ecs.Client
	ctx context.Context
	t   *testing.T
	now *clock
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newBench(t *testing.T, d ecstest.Definition, how ...func(*ecstest.Options)) *bench {
	t.Helper()
	c := &clock{at: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)}
	o := ecstest.Options{Definitions: map[string]ecstest.Definition{"worker": d}, Now: c.now}
	for _, change := range how {
		change(&o)
	}
	s, err := ecstest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return &bench{Server: s, sdk: s.Client(once), ctx: ctx, t: t, now: c}
}

func once(o *ecs.Options) { o.Retryer = aws.NopRetryer{} }

// child is a definition that runs this program.
func child(t *testing.T, what string, env ...string) ecstest.Definition {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := ecstest.Definition{Command: []string{self}, Env: map[string]string{"CHILD": what}}
	for i := 0; i < len(env); i += 2 {
		d.Env[env[i]] = env[i+1]
	}
	return d
}

// stub is a definition that runs until it is told to stop.
func stub() ecstest.Definition {
	return ecstest.Definition{Stub: func(ctx context.Context, _ map[string]string) int { <-ctx.Done(); return 30 }}
}

// request is a RunTask that is in order.
func request(token string) *ecs.RunTaskInput {
	return &ecs.RunTaskInput{
		Cluster: aws.String("outposts"), TaskDefinition: aws.String("worker"), ClientToken: aws.String(token), StartedBy: aws.String("devin-1"),
		CapacityProviderStrategy: []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE"), Weight: 1}},
		NetworkConfiguration:     &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{Subnets: []string{"subnet-1"}}},
	}
}

func (b *bench) run(token string, how ...func(*ecs.RunTaskInput)) string {
	b.t.Helper()
	in := request(token)
	for _, change := range how {
		change(in)
	}
	out, err := b.sdk.RunTask(b.ctx, in)
	if err != nil || len(out.Tasks) != 1 {
		b.t.Fatalf("RunTask: %+v, %v", out, err)
	}
	return *out.Tasks[0].TaskArn
}

func (b *bench) await(arn, status string) ecstest.Task {
	b.t.Helper()
	task, err := b.Await(b.ctx, arn, status)
	if err != nil {
		b.t.Fatal(err)
	}
	return task
}

func (b *bench) stop(arn, reason string) {
	b.t.Helper()
	if _, err := b.sdk.StopTask(b.ctx, &ecs.StopTaskInput{Cluster: aws.String("outposts"), Task: aws.String(arn), Reason: aws.String(reason)}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) describe(arns ...string) *ecs.DescribeTasksOutput {
	b.t.Helper()
	out, err := b.sdk.DescribeTasks(b.ctx, &ecs.DescribeTasksInput{Cluster: aws.String("outposts"), Tasks: arns})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) list(how ...func(*ecs.ListTasksInput)) *ecs.ListTasksOutput {
	b.t.Helper()
	in := &ecs.ListTasksInput{Cluster: aws.String("outposts")}
	for _, change := range how {
		change(in)
	}
	out, err := b.sdk.ListTasks(b.ctx, in)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}
