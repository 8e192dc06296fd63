package laptop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/devin-outposts/devin-outposts-aws/functions/claim"
	"github.com/devin-outposts/devin-outposts-aws/functions/observe"
	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/functions/sweep"
	"github.com/devin-outposts/devin-outposts-aws/functions/wire"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lambdatest"
)

// Functions are the names of the four, in the order of a life.
var Functions = []string{"poll", "claim", "observe", "sweep"}

// timeouts are the functions' as the stack sets them.
var timeouts = map[string]time.Duration{"poll": 170 * time.Second, "claim": time.Minute, "observe": time.Minute, "sweep": 58 * time.Second}

// invoker runs a function once.
type invoker interface {
	call(ctx context.Context, function string, payload []byte) ([]byte, error)
	close()
}

func (l *Laptop) startFunctions() error {
	if l.o.Functions != "" {
		l.invoke = startBinaries(l.o, l.Env)
		return nil
	}
	in, err := startInProcess(l.o, l.Env, l.clients, l.ECS.URL)
	l.invoke = in
	return err
}

// inProcess calls the handlers as Lambda's runtime client would: JSON in, JSON out.
type inProcess struct {
	now      func() time.Time
	handlers map[string]func(context.Context, []byte) (any, error)
}

func startInProcess(o Options, environ []string, clients aws.Config, ecsURL string) (inProcess, error) {
	env, err := config.Load(environ)
	if err != nil {
		return inProcess{}, err
	}
	logs := &locked{w: o.Logs}
	kit := func(name string) wire.Function {
		return wire.Function{Name: name, Version: "laptop", Now: o.Now, Out: logs, ECSURL: ecsURL}
	}
	c := claim.Handler{Kit: wire.New(env, clients, kit("claim"))}
	p := poll.Handler{Kit: wire.New(env, clients, kit("poll")), ListEvery: o.ListEvery}
	b := observe.Handler{Kit: wire.New(env, clients, kit("observe"))}
	s := sweep.Handler{Kit: wire.New(env, clients, kit("sweep"))}
	return inProcess{o.Now, map[string]func(context.Context, []byte) (any, error){
		"poll":    func(ctx context.Context, _ []byte) (any, error) { return nil, p.Handle(ctx) },
		"sweep":   func(ctx context.Context, _ []byte) (any, error) { return nil, s.Handle(ctx) },
		"observe": func(ctx context.Context, in []byte) (any, error) { return nil, b.Handle(ctx, in) },
		"claim": func(ctx context.Context, in []byte) (any, error) {
			var batch lambda.SQSEvent
			if err := json.Unmarshal(in, &batch); err != nil {
				return nil, err
			}
			return c.Handle(ctx, batch)
		},
	}}, nil
}

func (p inProcess) call(ctx context.Context, function string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithDeadline(ctx, p.now().Add(timeouts[function]))
	defer cancel()
	out, err := p.handlers[function](ctx, payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func (p inProcess) close() {}

// binaries runs the built functions under a Lambda runtime API.
type binaries map[string]*lambdatest.Function

func startBinaries(o Options, environ []string) binaries {
	out, vars := binaries{}, map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	for _, name := range Functions {
		out[name] = lambdatest.New(lambdatest.Config{Name: name, Binary: filepath.Join(o.Functions, name, "bootstrap"), Env: vars, Timeout: timeouts[name], Logs: o.Logs, Now: o.Now})
	}
	return out
}

func (b binaries) call(ctx context.Context, function string, payload []byte) ([]byte, error) {
	return b[function].Invoke(ctx, payload)
}

func (b binaries) close() {
	for _, f := range b {
		f.Close()
	}
}

// Invoke runs a function once with a payload, as Lambda would.
func (l *Laptop) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	out, err := l.invoke.call(ctx, function, payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", function, err)
	}
	return out, nil
}

// locked lets several write whole lines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
