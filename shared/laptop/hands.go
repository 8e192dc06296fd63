package laptop

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// Clock is a clock that can be set forward, for everything on the laptop at once.
type Clock struct {
	Base    func() time.Time
	forward atomic.Int64
}

// Now is the base's time, as far forward as the clock was set.
func (c *Clock) Now() time.Time { return c.Base().Add(time.Duration(c.forward.Load())) }

// Forward sets the clock forward.
func (c *Clock) Forward(d time.Duration) { c.forward.Add(int64(d)) }

// Workers are stand-ins for workers: each runs until its session is told to exit, or until it is stopped (exit 30).
type Workers struct {
	mu    sync.Mutex
	exits map[string]chan int
}

// Run is a task's stub.
func (w *Workers) Run(ctx context.Context, env map[string]string) int {
	select {
	case <-ctx.Done():
		return 30
	case code := <-w.of(env["OUTPOST_SESSION_ID"]):
		return code
	}
}

// Exit ends the worker of a session with an exit code.
func (w *Workers) Exit(sessionID string, code int) { w.of(sessionID) <- code }

func (w *Workers) of(sessionID string) chan int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exits == nil {
		w.exits = map[string]chan int{}
	}
	if w.exits[sessionID] == nil {
		w.exits[sessionID] = make(chan int, 16)
	}
	return w.exits[sessionID]
}

// Offered takes all offers off the queue.
func (l *Laptop) Offered(ctx context.Context) ([]events.Offer, error) {
	var out []events.Offer
	for {
		got, err := l.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &l.queueURL, MaxNumberOfMessages: 10})
		if err != nil || len(got.Messages) == 0 {
			return out, err
		}
		for _, m := range got.Messages {
			var o events.Offer
			if err := json.Unmarshal([]byte(*m.Body), &o); err != nil {
				return out, err
			}
			out = append(out, o)
			if _, err := l.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &l.queueURL, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return out, err
			}
		}
	}
}

// Put puts a message on the offer queue.
func (l *Laptop) Put(ctx context.Context, body string) error {
	_, err := l.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &l.queueURL, MessageBody: &body})
	return err
}

// Launch polls and delivers until the session's task runs, and answers that task. The task's events are left to Events.
func (l *Laptop) Launch(ctx context.Context, sessionID string) (ecstest.Task, error) {
	if err := l.Poll(ctx); err != nil {
		return ecstest.Task{}, err
	}
	for {
		n, err := l.Deliver(ctx)
		if err != nil {
			return ecstest.Task{}, err
		}
		if n == 0 {
			break
		}
	}
	t, ok := l.Task(sessionID)
	if !ok {
		return ecstest.Task{}, fmt.Errorf("session %s has no task after poll and claim", sessionID)
	}
	return l.ECS.Await(ctx, t.ARN, "RUNNING")
}

// Task answers the newest task of a session.
func (l *Laptop) Task(sessionID string) (ecstest.Task, bool) {
	var last ecstest.Task
	found := false
	for _, t := range l.ECS.Tasks() {
		if t.Env["OUTPOST_SESSION_ID"] == sessionID {
			last, found = t, true
		}
	}
	return last, found
}

// Lease answers a session's lease; the zero lease when there is none.
func (l *Laptop) Lease(ctx context.Context, sessionID string) session.Lease {
	have, err := l.Store.Get(ctx, sessionID)
	if err != nil || have == nil {
		return session.Lease{}
	}
	return *have
}
