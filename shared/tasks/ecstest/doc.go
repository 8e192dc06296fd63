// Package ecstest is a local ECS: an HTTP server that speaks ECS's wire protocol for RunTask, StopTask, DescribeTasks and ListTasks, and runs each task as a
// child process with a real exit code (or, for thousands of tasks, as a function). Where ECS refuses a request, so does it; where ECS is slow, late or wrong,
// it can be told to be ([Server.Inject] and what follows it). State changes are told as EventBridge would tell them.
//
// Child processes need a Unix: each leads a process group of its own, so that a task's end takes everything that the task started with it.
package ecstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Where the server pretends to stand.
const (
	Region  = "us-east-1"
	Account = "123456789012"
)

// Options are a server's. Definitions and Now are required.
type Options struct {
	Addr        string                // to listen on; empty = a free port of 127.0.0.1
	Cluster     string                // the only cluster; empty = outposts
	Providers   []string              // capacity providers of the cluster; nil = FARGATE and FARGATE_SPOT. Others count as Auto Scaling groups
	Definitions map[string]Definition // by family or family:revision
	Now         func() time.Time      // for every time that is told or compared; the pauses below are real
	OnEvent     func(event []byte)    // told of every state change, one at a time and in order for each task; nil = nobody
	Output      io.Writer             // takes the processes' output, each line with its task's id; nil = nowhere

	Provisioning   time.Duration // how long a task stays in that state
	Pending        time.Duration
	Deprovisioning time.Duration
}

// Definition is a task definition: a command or a function.
type Definition struct {
	Family      string            // empty = the key's
	Container   string            // the only container's name; empty = worker
	Bridge      bool              // bridge network: no network configuration in RunTask. Else awsvpc, which must have one
	Command     []string          // its first element is the program's path
	Env         map[string]string // a process has these variables and RunTask's and no others
	WorkRoot    string            // every process runs in a new directory below it, which the caller removes; empty = in the server's own directory
	StopTimeout time.Duration     // between SIGTERM and SIGKILL; 0 = 30 s
	Tags        map[string]string // of the task definition; a task gets them when RunTask says so

	// Stub runs in place of Command. Its context ends, with the cause ErrTerminated or ErrKilled, when a process would get a signal; after ErrKilled its exit code
	// is not waited for.
	Stub func(ctx context.Context, env map[string]string) (exit int)
}

// Why a stub's context ended.
var (
	ErrTerminated = errors.New("SIGTERM")
	ErrKilled     = errors.New("SIGKILL")
)

// Server is a running local ECS.
type Server struct {
	URL string // for AWS_ENDPOINT_URL_ECS

	o      Options
	http   *http.Server
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	lives  sync.WaitGroup
	output sync.Mutex

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, with every change of a task
	tasks   map[string]*task
	order   []*task // by seq
	seq     int
	tokens  map[string]*task
	forgot  time.Time // when forget last looked
	calls   map[string]int
	faults  faults
}

// New starts a server.
func New(o Options) (*Server, error) {
	if o.Now == nil || len(o.Definitions) == 0 {
		return nil, errors.New("start local ECS: Options.Now and Options.Definitions are required")
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Cluster == "" {
		o.Cluster = "outposts"
	}
	if o.Providers == nil {
		o.Providers = []string{"FARGATE", "FARGATE_SPOT"}
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("start local ECS: %w (is the port taken?)", err)
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), o: o, changed: make(chan struct{}),
		tasks: map[string]*task{}, tokens: map[string]*task{}, calls: map[string]int{}, faults: faults{refused: map[string]string{}},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // until Close
	return s, nil
}

// Close kills every task, waits for all of them, and stops the server. No events come after it.
func (s *Server) Close() {
	s.mu.Lock() // no task starts from here on
	s.cancel()
	s.mu.Unlock()
	s.http.Close()
	s.lives.Wait()
}

// Client is an SDK client of the server, as the functions have it.
func (s *Server) Client(options ...func(*ecs.Options)) *ecs.Client {
	return ecs.New(ecs.Options{
		Region: Region, BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: WholeAnswers(),
	}, options...)
}

// Calls are how many calls of each operation came in, refused and failed ones too.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := map[string]int{}
	for op, n := range s.calls {
		calls[op] = n
	}
	return calls
}
