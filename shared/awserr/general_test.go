package awserr_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	dynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
)

func cancelled(codes ...string) error {
	e := &dynamodb.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, dynamodb.CancellationReason{Code: aws.String(code)})
	}
	return answered(400, e)
}

// kinds is what the questions say of one error.
type kinds struct {
	Throttled, Denied, NotSent, Unclear, Temporary, Condition, Conflict bool
}

func TestErrorsAreOfTheirKind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want kinds
	}{
		"none":                      {nil, kinds{}},
		"throttled":                 {coded(400, "ThrottlingException", ""), kinds{Throttled: true, Temporary: true}},
		"table throttled":           {coded(400, "ProvisionedThroughputExceededException", ""), kinds{Throttled: true, Temporary: true}},
		"denied":                    {coded(400, "AccessDeniedException", ""), kinds{Denied: true}},
		"server":                    {coded(500, "InternalServerError", ""), kinds{Unclear: true, Temporary: true}},
		"service unavailable":       {coded(503, "ServiceUnavailable", ""), kinds{Unclear: true, Temporary: true}},
		"no answer":                 {unanswered(errors.New("reset")), kinds{Unclear: true, Temporary: true}},
		"deadline":                  {unanswered(context.DeadlineExceeded), kinds{Unclear: true, Temporary: true}},
		"called off":                {unanswered(context.Canceled), kinds{Unclear: true}},
		"never connected":           {unanswered(&net.OpError{Op: "dial", Err: errors.New("refused")}), kinds{NotSent: true, Temporary: true}},
		"condition":                 {answered(400, &dynamodb.ConditionalCheckFailedException{}), kinds{Condition: true}},
		"condition in transaction":  {cancelled("None", "ConditionalCheckFailed"), kinds{Condition: true}},
		"conflict in transaction":   {cancelled("TransactionConflict", "None"), kinds{Conflict: true, Temporary: true}},
		"throttled in transaction":  {cancelled("None", "ThrottlingError"), kinds{Conflict: true, Temporary: true}},
		"conflict and condition":    {cancelled("TransactionConflict", "ConditionalCheckFailed"), kinds{Condition: true}},
		"conflict of a plain write": {answered(400, &dynamodb.TransactionConflictException{}), kinds{Conflict: true, Temporary: true}},
		"in progress":               {answered(400, &dynamodb.TransactionInProgressException{}), kinds{Throttled: true, Conflict: true, Temporary: true}},
		"validation":                {coded(400, "ValidationException", ""), kinds{}},
	} {
		got := kinds{
			awserr.Throttled(tc.err), awserr.AccessDenied(tc.err), awserr.NotSent(tc.err), awserr.Unclear(tc.err), awserr.Temporary(tc.err),
			awserr.ConditionFailed(tc.err), awserr.TransactionConflict(tc.err),
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCancelReasonsStandInTheOrderOfTheItems(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"None", "ConditionalCheckFailed"}, awserr.CancelReasons(cancelled("None", "ConditionalCheckFailed"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := awserr.CancelReasons(errors.New("another")); got != nil {
		t.Errorf("another error has reasons %v", got)
	}
}
