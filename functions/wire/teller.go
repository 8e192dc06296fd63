package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/devin-outposts/devin-outposts-aws/events"
)

// EventsAPI is the part of EventBridge that is called.
type EventsAPI interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// teller publishes lifecycle events on the default bus, best effort: a failure is logged, and no session waits for it.
type teller struct {
	api EventsAPI
	log *slog.Logger
}

// perPut is how many events EventBridge takes in one call, and tellFor how long telling may take: it comes after the work, in the time that is left for the rest.
const (
	perPut  = 10
	tellFor = 2 * time.Second
)

// Tell implements drive.Teller.
func (t teller) Tell(ctx context.Context, steps []events.StateChange) {
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	for ; len(steps) > 0; steps = steps[min(perPut, len(steps)):] {
		if err := t.put(ctx, steps[:min(perPut, len(steps))]); err != nil {
			t.log.Warn("lifecycle events not published", "error", err.Error())
			return
		}
	}
}

func (t teller) put(ctx context.Context, steps []events.StateChange) error {
	in, err := putEvents(steps)
	if err != nil {
		return err
	}
	out, err := t.api.PutEvents(ctx, in)
	if err != nil || out.FailedEntryCount == 0 {
		return err
	}
	for _, e := range out.Entries { // an answer of 200, all the same
		if e.ErrorCode != nil {
			return fmt.Errorf("%d of %d refused, the first: %s: %s", out.FailedEntryCount, len(steps), *e.ErrorCode, aws.ToString(e.ErrorMessage))
		}
	}
	return fmt.Errorf("%d of %d refused", out.FailedEntryCount, len(steps))
}

func putEvents(steps []events.StateChange) (*eventbridge.PutEventsInput, error) {
	in := &eventbridge.PutEventsInput{}
	for _, s := range steps {
		detail, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		in.Entries = append(in.Entries, types.PutEventsRequestEntry{Source: aws.String(events.Source), DetailType: aws.String(events.DetailType),
			Detail: aws.String(string(detail)), Time: aws.Time(s.At)})
	}
	return in, nil
}
