// Package claim takes offered sessions: it reserves a slot, claims the session and launches its worker.
package claim

import (
	"context"
	"fmt"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/offers"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// Handler serves the offer queue.
type Handler struct{ functions.Kit }

// messagesAtOnce bounds how many messages of a batch are worked on in parallel.
const messagesAtOnce = 10

// Handle answers which messages SQS is to bring back. A message is done when its session is taken, is not to be taken, or cannot be taken now for want of a slot:
// poll offers it again. Just so while the fleet API wants to be left alone. It fails when something that may pass stood in the way.
func (h Handler) Handle(ctx context.Context, batch lambda.SQSEvent) (lambda.SQSEventResponse, error) {
	run, err := h.Begin(ctx)
	if err != nil {
		return lambda.SQSEventResponse{}, err
	}
	all := func(n int, do func(i int)) { h.FanOut(n, messagesAtOnce, do) }
	return offers.Each(batch, all, func(m lambda.SQSMessage) error { return h.take(ctx, run, m) }, func(m lambda.SQSMessage, err error) {
		h.Log.Warn("offer comes back", "message_id", m.MessageId, "received", m.Attributes["ApproximateReceiveCount"], "error", err.Error())
	}), nil
}

// take drives one offered session.
func (h Handler) take(ctx context.Context, run *functions.Run, m lambda.SQSMessage) error {
	offer, err := events.DecodeOffer([]byte(m.Body))
	if err != nil {
		h.Log.Error("offer malformed, dropped", "message_id", m.MessageId, "error", err.Error())
		h.Metrics.Count("", telemetry.BadOffers, 1)
		return nil
	}
	if run.Config(offer.OutpostID) == nil {
		h.Log.Warn("offer for an outpost that is not configured, dropped", "outpost_id", offer.OutpostID, "session_id", offer.SessionID)
		return nil
	}
	o, err := run.Outpost(ctx, offer.OutpostID)
	if err != nil {
		return fmt.Errorf("session %s: %w", offer.SessionID, err)
	}
	if rest := o.Quiet(); rest > 0 { // else the message would come back until it counts as dead
		h.Log.Info("fleet API wants to be left alone, offer dropped: poll makes it again", "outpost_id", offer.OutpostID, "session_id", offer.SessionID, "for", rest.String())
		return nil
	}
	res := run.Driver.Drive(ctx, drive.Job{SessionID: offer.SessionID, Outpost: o.Outpost, Until: run.Until, Patience: functions.BriefPatience, Retries: true})
	if res.Full {
		h.Metrics.Count(offer.OutpostID, telemetry.AtCapacity, 1)
		return nil
	}
	return res.Err
}
