package offers

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// Each hands every message of a batch to handle and answers which ones failed, so that SQS brings just those back. Each message starts failed and is cleared only
// when handle returns nil: an error or a panic in one leaves the others as they are. each runs its function for all indices, in parallel if it likes.
func Each(batch events.SQSEvent, each func(n int, do func(i int)), handle func(events.SQSMessage) error, failed func(events.SQSMessage, error)) events.SQSEventResponse {
	errs := make([]error, len(batch.Records))
	for i := range errs {
		errs[i] = fmt.Errorf("not reached")
	}
	each(len(batch.Records), func(i int) {
		defer func() {
			if p := recover(); p != nil {
				errs[i] = fmt.Errorf("panic: %v", p)
			}
		}()
		errs[i] = handle(batch.Records[i])
	})
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i, err := range errs {
		if err != nil {
			failed(batch.Records[i], err)
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: batch.Records[i].MessageId})
		}
	}
	return out
}
