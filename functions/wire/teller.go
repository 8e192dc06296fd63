package wire

import (
	"context"
	"encoding/json"
	"log/slog"

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

// perPut is how many events EventBridge takes in one call.
const perPut = 10

// Tell implements drive.Teller.
func (t teller) Tell(ctx context.Context, steps []events.StateChange) {
	for ; len(steps) > 0; steps = steps[min(perPut, len(steps)):] {
		in, err := putEvents(steps[:min(perPut, len(steps))])
		if err == nil {
			_, err = t.api.PutEvents(ctx, in)
		}
		if err != nil {
			t.log.Warn("lifecycle events not published", "error", err.Error())
			return
		}
	}
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
