package awserr

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	dynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Code is AWS's code of an error, such as ThrottlingException; empty when AWS gave none, as when the call never reached it.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Status is the HTTP status of an error's answer; 0 when there was no answer.
func Status(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// message is AWS's own text of an error, without the SDK's wrapping.
func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return ""
}

// Throttled says whether AWS refused a call because there were too many. Nothing came of that call.
func Throttled(err error) bool {
	if retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary || Status(err) == http.StatusTooManyRequests {
		return true
	}
	// ECS hides EC2's throttling in an InvalidParameterException (seen in the field).
	return Code(err) == "InvalidParameterException" && holdsAny(plain(message(err)), throttleWords)
}

var throttleWords = []string{"rate exceeded", "throttling", "requestlimitexceeded"}

// AccessDenied says whether our own permissions (or the account's service control policies) forbid a call.
func AccessDenied(err error) bool {
	return slices.Contains([]string{"AccessDeniedException", "AccessDenied", "UnauthorizedOperation", "NotAuthorized"}, Code(err))
}

// NotSent says whether a call certainly never left: no connection could be made. Its context's end proves that only when checked before the call.
func NotSent(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// Unclear says whether a call that failed may have taken effect all the same: there was no answer, or the answer was the service's own fault.
func Unclear(err error) bool {
	if err == nil || NotSent(err) || Throttled(err) {
		return false
	}
	if slices.Contains([]string{"ServerException", "InternalFailure", "InternalServerError", "InternalServerException", "ServiceUnavailable", "ServiceUnavailableException"}, Code(err)) {
		return true
	}
	status := Status(err)
	return status < 400 || status >= 500 || status == http.StatusRequestTimeout
}

// Temporary says whether the same call may succeed a moment later: throttling, no connection, no answer, the service's own fault, or a conflict that passes.
func Temporary(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	return Throttled(err) || NotSent(err) || Unclear(err) || TransactionConflict(err)
}

// CancelReasons are the codes for which DynamoDB cancelled a transaction, one for each of its items in their order ("None" for an item that was not at fault);
// nil when the error is no cancelled transaction.
func CancelReasons(err error) []string {
	var cancelled *dynamodb.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return nil
	}
	codes := make([]string, len(cancelled.CancellationReasons))
	for i, why := range cancelled.CancellationReasons {
		codes[i] = aws.ToString(why.Code)
	}
	return codes
}

// ConditionCode is the reason of a cancelled transaction's item whose own condition did not hold.
const ConditionCode = "ConditionalCheckFailed"

// ConditionFailed says whether a write was refused by its own condition, alone or in a transaction: somebody else was faster, or it was us and the answer got lost.
func ConditionFailed(err error) bool {
	return Code(err) == "ConditionalCheckFailedException" || slices.Contains(CancelReasons(err), ConditionCode)
}

// TransactionConflict says whether a write met another's transaction on the same item, with no condition of its own failed: to be tried again after a random while.
func TransactionConflict(err error) bool {
	if Code(err) == "TransactionConflictException" || Code(err) == "TransactionInProgressException" {
		return true
	}
	reasons := CancelReasons(err)
	if slices.Contains(reasons, ConditionCode) {
		return false
	}
	return slices.ContainsFunc(reasons, func(code string) bool {
		return code == "TransactionConflict" || code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
	})
}
