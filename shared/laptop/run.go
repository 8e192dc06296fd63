package laptop

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/devin-outposts/devin-outposts-aws/events"
)

// Run feeds the functions until the context ends, and waits for what is under way: poll and sweep by a schedule, claim from the queue, observe from the task events.
func (l *Laptop) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { l.schedule(ctx, "poll", l.o.PollEvery) })
	wg.Go(func() { l.schedule(ctx, "sweep", l.o.SweepEvery) })
	wg.Go(func() {
		for ctx.Err() == nil {
			if n, err := l.Deliver(ctx); err != nil || n == 0 {
				pause(ctx, 20*time.Millisecond)
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-l.events:
				wg.Go(func() { l.observe(ctx, event) })
			}
		}
	})
	wg.Wait()
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// schedule starts a function at a steady beat; like Lambda, it does not wait for the one before.
func (l *Laptop) schedule(ctx context.Context, function string, every time.Duration) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		wg.Go(func() {
			if err := l.call(ctx, function); err != nil && ctx.Err() == nil {
				l.fault(err)
			}
		})
		pause(ctx, every)
	}
}

func (l *Laptop) call(ctx context.Context, function string) error {
	_, err := l.Invoke(ctx, function, []byte(`{}`))
	return err
}

// Poll runs poll once.
func (l *Laptop) Poll(ctx context.Context) error { return l.call(ctx, "poll") }

// Sweep runs sweep once.
func (l *Laptop) Sweep(ctx context.Context) error { return l.call(ctx, "sweep") }

// observe hands one event to observe, which Lambda would try three times in all.
func (l *Laptop) observe(ctx context.Context, event []byte) {
	var err error
	for range 3 {
		if _, err = l.Invoke(ctx, "observe", event); err == nil || ctx.Err() != nil {
			return
		}
		pause(ctx, time.Second)
	}
	l.fault(err)
}

// Hear hands the task events that come to observe, in their order, until one has come that shows the task in that state.
func (l *Laptop) Hear(ctx context.Context, arn, status string) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no event shows task %s %s: %w", arn, status, ctx.Err())
		case raw := <-l.events:
			l.observe(ctx, raw)
			event, err := events.DecodeTaskStateChange(raw)
			if err != nil {
				return err
			}
			if event.Detail.TaskARN == arn && event.Detail.LastStatus == status {
				return nil
			}
		}
	}
}

// Deliver brings one batch from the offer queue to claim and deletes what claim does not report, as Lambda does. It answers how many messages there were.
func (l *Laptop) Deliver(ctx context.Context) (int, error) {
	got, err := l.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &l.queueURL, MaxNumberOfMessages: 5,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
	if err != nil || len(got.Messages) == 0 {
		return 0, err
	}
	var batch lambda.SQSEvent
	for _, m := range got.Messages {
		batch.Records = append(batch.Records, lambda.SQSMessage{MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle),
			Body: aws.ToString(m.Body), Attributes: m.Attributes, EventSource: "aws:sqs", AWSRegion: region})
	}
	payload, err := json.Marshal(batch)
	if err != nil {
		return 0, err
	}
	raw, err := l.Invoke(ctx, "claim", payload)
	if err != nil {
		if ctx.Err() == nil {
			l.fault(err)
		}
		return len(got.Messages), err
	}
	var answer lambda.SQSEventResponse
	if err := json.Unmarshal(raw, &answer); err != nil {
		return 0, fmt.Errorf("claim's answer: %w", err)
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, m := range got.Messages {
		if failed[aws.ToString(m.MessageId)] {
			continue
		}
		if _, err := l.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &l.queueURL, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return len(got.Messages), err
		}
	}
	return len(got.Messages), nil
}
