package awserr_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	ecs "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// answered wraps an error as the SDK does when AWS answered with a status.
func answered(status int, err error) error {
	return &smithy.OperationError{ServiceID: "ECS", OperationName: "RunTask", Err: &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}}
}

func coded(status int, code, message string) error {
	return answered(status, &smithy.GenericAPIError{Code: code, Message: message})
}

func unanswered(err error) error {
	return &smithy.OperationError{ServiceID: "ECS", OperationName: "RunTask", Err: &smithyhttp.RequestSendError{Err: err}}
}

func TestRunTaskErrorsRowByRow(t *testing.T) {
	t.Parallel()
	const (
		retry, backoff, terminal = session.Retry, session.Backoff, session.Terminal
		definite, unclear        = true, false
		breaker, quiet           = true, false
	)
	for name, tc := range map[string]struct {
		err  error
		want awserr.Refusal
	}{
		"throttled":           {coded(400, "ThrottlingException", "Rate exceeded"), awserr.Refusal{retry, definite, quiet, "ThrottlingException: Rate exceeded"}},
		"throttled with 429":  {answered(429, errors.New("slow down")), awserr.Refusal{retry, definite, quiet, "operation error ECS: RunTask, https response error StatusCode: 429, RequestID: , slow down"}},
		"throttled with 503":  {coded(503, "SlowDown", ""), awserr.Refusal{retry, definite, quiet, "SlowDown"}},
		"server":              {coded(500, "ServerException", "Unexpected"), awserr.Refusal{retry, unclear, quiet, "ServerException: Unexpected"}},
		"server with 400":     {answered(400, &ecs.ServerException{}), awserr.Refusal{retry, unclear, quiet, "ServerException"}},
		"bad gateway":         {answered(502, errors.New("no JSON")), awserr.Refusal{retry, unclear, quiet, "operation error ECS: RunTask, https response error StatusCode: 502, RequestID: , no JSON"}},
		"request timeout":     {coded(408, "RequestTimeout", ""), awserr.Refusal{retry, unclear, quiet, "RequestTimeout"}},
		"no time left":        {unanswered(context.DeadlineExceeded), awserr.Refusal{retry, unclear, quiet, "operation error ECS: RunTask, request send failed, context deadline exceeded"}},
		"connection cut":      {unanswered(&net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}), awserr.Refusal{retry, unclear, quiet, "operation error ECS: RunTask, request send failed, read tcp: reset"}},
		"never connected":     {unanswered(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}), awserr.Refusal{retry, definite, quiet, "operation error ECS: RunTask, request send failed, dial tcp: refused"}},
		"hidden throttle 1":   {coded(400, "InvalidParameterException", "Rate exceeded"), awserr.Refusal{retry, definite, quiet, "InvalidParameterException: Rate exceeded"}},
		"hidden throttle 2":   {coded(400, "InvalidParameterException", "EC2: Throttling"), awserr.Refusal{retry, definite, quiet, "InvalidParameterException: EC2: Throttling"}},
		"hidden throttle 3":   {coded(400, "InvalidParameterException", "RequestLimitExceeded: …"), awserr.Refusal{retry, definite, quiet, "InvalidParameterException: RequestLimitExceeded: …"}},
		"bad parameter":       {coded(400, "InvalidParameterException", "No subnet"), awserr.Refusal{terminal, definite, breaker, "InvalidParameterException: No subnet"}},
		"typed bad parameter": {answered(400, &ecs.InvalidParameterException{}), awserr.Refusal{terminal, definite, breaker, "InvalidParameterException"}},
		"provisioning quota":  {coded(400, "ClientException", "The tasks in PROVISIONING state exceed the limit"), awserr.Refusal{retry, definite, quiet, "ClientException: The tasks in PROVISIONING state exceed the limit"}},
		"role spreading":      {coded(400, "ClientException", "ECS was unable to assume the role 'arn:x'"), awserr.Refusal{backoff, definite, breaker, "ClientException: ECS was unable to assume the role 'arn:x'"}},
		"linked role":         {coded(400, "ClientException", "Unable to assume the service linked role."), awserr.Refusal{backoff, definite, breaker, "ClientException: Unable to assume the service linked role."}},
		"client":              {coded(400, "ClientException", "TaskDefinition not found."), awserr.Refusal{terminal, definite, breaker, "ClientException: TaskDefinition not found."}},
		"denied":              {coded(400, "AccessDeniedException", "no"), awserr.Refusal{terminal, definite, breaker, "AccessDeniedException: no"}},
		"blocked":             {coded(400, "BlockedException", "Your account was blocked."), awserr.Refusal{terminal, definite, breaker, "BlockedException: Your account was blocked."}},
		"no cluster":          {answered(400, &ecs.ClusterNotFoundException{}), awserr.Refusal{terminal, definite, breaker, "ClusterNotFoundException"}},
		"no platform":         {answered(400, &ecs.PlatformUnknownException{}), awserr.Refusal{terminal, definite, breaker, "PlatformUnknownException"}},
		"wrong platform":      {answered(400, &ecs.PlatformTaskDefinitionIncompatibilityException{}), awserr.Refusal{terminal, definite, breaker, "PlatformTaskDefinitionIncompatibilityException"}},
		"unsupported":         {answered(400, &ecs.UnsupportedFeatureException{}), awserr.Refusal{terminal, definite, breaker, "UnsupportedFeatureException"}},
		"never seen":          {coded(400, "MoonPhaseException", "waning"), awserr.Refusal{retry, definite, quiet, "MoonPhaseException: waning"}},
	} {
		if diff := cmp.Diff(tc.want, awserr.RunTaskError(tc.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunTaskFailuresRowByRow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, detail string
		class          session.Class
		breaker        bool
	}{
		{"RESOURCE:CPU", "", session.Retry, false},
		{"RESOURCE:MEMORY", "", session.Retry, false},
		{"RESOURCE:PORTS", "", session.Retry, false},
		{"RESOURCE:ENI", "", session.Retry, false},
		{"RESOURCE:GPU", "", session.Retry, false},
		{"AGENT", "the agent is not connected to this location", session.Retry, false},
		{"Capacity is unavailable at this time. Please try again later or in a different availability zone", "", session.Retry, false},
		{"You’ve reached the limit on the number of vCPUs you can run concurrently", "", session.Backoff, true},
		{"You've reached the limit on the number of vCPUs you can run concurrently", "", session.Backoff, true},
		{"LOCATION", "", session.Terminal, true},
		{"ATTRIBUTE", "", session.Terminal, true},
		{"The requested CPU configuration is above your limit", "", session.Terminal, true},
		{"The requested MEMORY configuration is above your limit.", "", session.Terminal, true},
		{"an allocation nobody has heard of", "attribute", session.Retry, false},
		{"", "", session.Retry, false},
	} {
		want := awserr.Refusal{Class: tc.class, Definite: true, Breaker: tc.breaker, Reason: tc.reason}
		if tc.detail != "" {
			want.Reason += ": " + tc.detail
		}
		if diff := cmp.Diff(want, awserr.RunTaskFailure(tc.reason, tc.detail)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestConflictNamesTheTasksThatExist(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		arns []string
		ok   bool
	}{
		"names one":  {answered(400, &ecs.ConflictException{ResourceIds: []string{"arn:1"}}), []string{"arn:1"}, true},
		"names none": {answered(400, &ecs.ConflictException{}), nil, true},
		"untyped":    {coded(400, "ConflictException", ""), nil, true},
		"another":    {coded(400, "ClientException", ""), nil, false},
	} {
		arns, ok := awserr.ConflictingTasks(tc.err)
		if diff := cmp.Diff(tc.arns, arns); diff != "" || ok != tc.ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
	}
}
