package wire

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// bus is an event bus that answers what it is told to.
type bus func(in *eventbridge.PutEventsInput) (*eventbridge.PutEventsOutput, error)

func (b bus) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	return b(in)
}

func TestEventsThatAreNotTakenAreToldInTheLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  *eventbridge.PutEventsOutput
		err  error
		want string
	}{
		"all taken": {&eventbridge.PutEventsOutput{Entries: []types.PutEventsResultEntry{{EventId: aws.String("e-1")}}}, nil, ""},
		"no answer": {nil, errors.New("no answer"), `"error":"no answer"`},
		"an entry fails": {&eventbridge.PutEventsOutput{FailedEntryCount: 1, Entries: []types.PutEventsResultEntry{{EventId: aws.String("e-1")},
			{ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("slow down")}}}, nil, `"error":"1 of 2 refused, the first: ThrottlingException: slow down"`},
	} {
		var log bytes.Buffer
		tell := teller{bus(func(*eventbridge.PutEventsInput) (*eventbridge.PutEventsOutput, error) { return c.out, c.err }), telemetry.NewLogger(&log, "claim", "")}
		tell.Tell(t.Context(), make([]events.StateChange, 2))
		if got := log.String(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the log says %q, want %q", name, got, c.want)
		}
	}
}

func TestEventsAreSentTenAtATime(t *testing.T) {
	t.Parallel()
	var sizes []int
	tell := teller{bus(func(in *eventbridge.PutEventsInput) (*eventbridge.PutEventsOutput, error) {
		sizes = append(sizes, len(in.Entries))
		return &eventbridge.PutEventsOutput{}, nil
	}), nil}
	tell.Tell(t.Context(), make([]events.StateChange, 23))
	if len(sizes) != 3 || sizes[0] != 10 || sizes[1] != 10 || sizes[2] != 3 {
		t.Errorf("sent %v", sizes)
	}
}
