// Package offers sends offers to the queue, and handles the batches in which Lambda delivers them. An offer is a hint that a session waits, never the truth: it may
// be doubled, late or lost, since the next listing makes another.
package offers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/devin-outposts/devin-outposts-aws/events"
)

// API is the part of SQS that is called.
type API interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// Queue is the offer queue.
type Queue struct {
	API API
	URL string
}

// perCall is how many messages SQS takes in one call.
const perCall = 10

// Inputs are the calls that send these offers.
func Inputs(url string, list []events.Offer) ([]*sqs.SendMessageBatchInput, error) {
	var calls []*sqs.SendMessageBatchInput
	for i, o := range list {
		body, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("offer session %s: %w", o.SessionID, err)
		}
		if i%perCall == 0 {
			calls = append(calls, &sqs.SendMessageBatchInput{QueueUrl: aws.String(url)})
		}
		last := calls[len(calls)-1]
		last.Entries = append(last.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i % perCall)), MessageBody: aws.String(string(body))})
	}
	return calls, nil
}

// Send sends offers. One that SQS refuses does not keep the others back; all refusals are told.
func (q Queue) Send(ctx context.Context, list []events.Offer) error {
	calls, err := Inputs(q.URL, list)
	if err != nil {
		return err
	}
	var errs []error
	for _, in := range calls {
		out, err := q.API.SendMessageBatch(ctx, in)
		if err != nil {
			errs = append(errs, fmt.Errorf("send %d offers: %w", len(in.Entries), err))
			continue
		}
		for _, f := range out.Failed {
			errs = append(errs, fmt.Errorf("send offer: SQS refused it: %s: %s", aws.ToString(f.Code), aws.ToString(f.Message)))
		}
	}
	return errors.Join(errs...)
}
