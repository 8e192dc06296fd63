package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions/claim"
	"github.com/devin-outposts/devin-outposts-aws/functions/observe"
	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/functions/sweep"
)

// How the offer queue feeds claim, as the stack sets it.
const (
	visibility  = 6 * time.Minute
	maxReceives = 5
	batchSize   = 5
	mostClaims  = 4 // invocations at once
)

// schedule starts a function up to a minute late, sometimes twice; not while the function is broken.
func (w *world) schedule(function string, limit time.Duration, run func(context.Context)) {
	if w.isBroken(function) {
		return
	}
	start := func() { w.invoke(function, limit, run, func(bool) {}) }
	w.after(w.between(0, 59*time.Second), start)
	if w.inject(ScheduleDoubled, w.plan.doubled) {
		w.after(w.between(0, 59*time.Second), start)
	}
}

// isBroken says whether a function does not run now.
func (w *world) isBroken(function string) bool {
	if slices.Contains(w.plan.absent, function) {
		return true
	}
	if len(w.plan.broken) == 0 || !w.within(w.plan.broken, function) {
		return false
	}
	w.faults[Broken] = max(1, w.faults[Broken])
	return true
}

func (w *world) claimBatch(ctx context.Context, in lambda.SQSEvent) (lambda.SQSEventResponse, error) {
	return claim.Handler{Kit: w.kit}.Handle(ctx, in)
}

func (w *world) poll(ctx context.Context)  { _ = poll.Handler{Kit: w.kit}.Handle(ctx) }
func (w *world) sweep(ctx context.Context) { _ = sweep.Handler{Kit: w.kit}.Handle(ctx) }

// observe delivers an event. Lambda tries a failed asynchronous invocation twice more.
func (w *world) observe(id string, raw json.RawMessage, tries int) {
	if w.isBroken("observe") {
		return
	}
	w.invoke("observe", time.Minute, func(ctx context.Context) {
		err := observe.Handler{Kit: w.kit}.Handle(ctx, raw)
		if err != nil {
			w.note(id, "observe fails: %v", err)
			if tries < 2 {
				w.after(time.Minute<<tries, func() { w.observe(id, raw, tries+1) })
			}
		}
	}, func(bool) {})
}

// message is an offer in the queue.
type message struct {
	id       string
	session  string
	body     string
	receives int
}

// queue is SQS and the mapping that feeds claim.
type queue struct {
	w       *world
	ready   []message
	busy    int // invocations of claim
	serial  int
	planned bool
}

func newQueue(w *world) *queue { return &queue{w: w} }

// Send implements functions.Offers.
func (q *queue) Send(_ context.Context, list []events.Offer) error {
	if len(list) == 0 {
		return nil
	}
	err := q.w.call(queueAPI, "SendMessageBatch", list[0].OutpostID, time.Time{}, func() {
		for _, o := range list {
			body, err := json.Marshal(o)
			if err != nil {
				panic(err) // it is made of strings and a time
			}
			q.take(o.SessionID, string(body))
		}
	})
	if err != nil {
		return fmt.Errorf("send %d offers: %w", len(list), err)
	}
	return nil
}

// take puts a message into the queue, if it does not go astray.
func (q *queue) take(id, body string) {
	w := q.w
	w.judge.clear(id, "an offer", body)
	put := func(d time.Duration) {
		q.serial++
		m := message{id: fmt.Sprintf("m-%d", q.serial), session: id, body: body}
		w.after(d, func() { q.ready = append(q.ready, m); q.pump() })
	}
	if w.inject(MessageLost, w.plan.messageLost) {
		return
	}
	if w.inject(MessageDoubled, w.plan.messageDoubled) {
		put(w.between(0, []time.Duration{500 * time.Millisecond, 90 * time.Second}[w.from(0, 1)]))
	}
	if w.inject(MessageLate, w.plan.messageLate) {
		put(w.between(time.Second, 8*time.Minute))
		return
	}
	put(w.between(5*time.Millisecond, 300*time.Millisecond))
}

// pump plans the next delivery.
func (q *queue) pump() {
	if q.planned || len(q.ready) == 0 || q.busy >= mostClaims {
		return
	}
	q.planned = true
	q.w.after(q.w.between(10*time.Millisecond, 200*time.Millisecond), func() {
		q.planned = false
		q.deliver()
		q.pump()
	})
}

// deliver hands a batch to claim. What claim does not finish comes back when its visibility time-out has passed, and not for ever.
func (q *queue) deliver() {
	w := q.w
	if w.isBroken("claim") {
		w.after(time.Minute, q.pump)
		return
	}
	n := min(len(q.ready), batchSize)
	batch := slices.Clone(q.ready[:n])
	q.ready = q.ready[n:]
	var in lambda.SQSEvent
	for i := range batch {
		batch[i].receives++
		in.Records = append(in.Records, lambda.SQSMessage{MessageId: batch[i].id, Body: batch[i].body})
	}
	q.busy++
	failed := batch
	w.invoke("claim", time.Minute, func(ctx context.Context) {
		began := w.now
		out, err := w.claim(ctx, in)
		if err != nil {
			return
		}
		w.judge.answered(batch, out, began)
		failed = nil
		for _, f := range out.BatchItemFailures {
			for _, m := range batch {
				if m.id == f.ItemIdentifier {
					failed = append(failed, m)
				}
			}
		}
	}, func(finished bool) {
		q.busy--
		if !finished {
			failed = batch
		}
		for _, m := range failed {
			if m.receives >= maxReceives { // it is put aside
				continue
			}
			w.after(visibility, func() { q.ready = append(q.ready, m); q.pump() })
		}
		q.pump()
	})
}

// teller looks for secrets in what is published of lives.
type teller struct{ w *world }

// Tell implements drive.Teller.
func (t teller) Tell(_ context.Context, steps []events.StateChange) {
	for _, s := range steps {
		t.w.judge.clear(s.SessionID, "a lifecycle event", s.Reason)
	}
}
