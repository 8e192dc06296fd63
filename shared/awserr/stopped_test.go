package awserr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func code(n int32) *int32 { return &n }

// meaning is an exit without its reason.
type meaning struct {
	verdict session.Verdict
	class   session.Class
	breaker bool
}

var (
	failedRetry    = meaning{session.Failed, session.Retry, false}
	failedBackoff  = meaning{session.Failed, session.Backoff, true}
	failedTerminal = meaning{session.Failed, session.Terminal, true}
	interrupted    = meaning{session.Interrupted, session.Retry, false}
)

func TestStopReasonsRowByRow(t *testing.T) {
	t.Parallel()
	const start, exited = "TaskFailedToStart", "EssentialContainerExited"
	for _, tc := range []struct {
		code, reason string
		exit         *int32
		container    string
		want         meaning
	}{
		// placement
		{start, "TaskFailedToStart: RESOURCE:CPU", nil, "", failedRetry},
		{start, "TaskFailedToStart: EMPTY CAPACITY PROVIDER", nil, "", failedRetry},
		{start, "TaskFailedToStart: NO ACTIVE INSTANCES", nil, "", failedRetry},
		{start, "TaskFailedToStart: AGENT", nil, "", failedRetry},
		{start, "TaskFailedToStart: ATTRIBUTE", nil, "", failedTerminal},
		{start, "ATTRIBUTE", nil, "", failedTerminal},
		{"", "TaskFailedToStart: ATTRIBUTE", nil, "", failedTerminal},
		{start, "TaskFailedToStart: MemberOf placement constraint unsatisfied.", nil, "", failedTerminal},
		// network interface
		{start, "Timeout waiting for network interface provisioning to complete.", nil, "", failedRetry},
		{start, "ResourceInitializationError: failed to configure ENI: failed to setup regular eni", nil, "", failedRetry},
		{start, "InsufficientFreeAddressesInSubnet: The specified subnet does not have enough free addresses to satisfy the request.", nil, "", failedBackoff},
		{start, "Unexpected EC2 error: InsufficientFreeAddressesInSubnet", nil, "", failedBackoff},
		// image
		{start, "CannotPullContainerError: dial tcp 1.2.3.4:443: i/o timeout", nil, "", failedRetry},
		{start, "CannotPullContainerError: unexpected EOF", nil, "", failedRetry},
		{start, "CannotPullContainerError: something new", nil, "", failedRetry},
		{start, "CannotPullContainerError: inspect image has been retried 5 time(s): toomanyrequests: You have reached your pull rate limit", nil, "", failedBackoff},
		{start, "CannotPullContainerError: … outpost-worker:1: not found", nil, "", failedTerminal},
		{start, "CannotPullContainerError: manifest unknown", nil, "", failedTerminal},
		{start, "CannotPullContainerError: image Manifest does not contain descriptor matching platform 'linux/arm64'", nil, "", failedTerminal},
		{start, "ResourceInitializationError: failed to validate logger args: create stream has been retried 1 times: ResourceNotFoundException: The specified log group does not exist.", nil, "", failedBackoff},
		{start, "CannotPullContainerError: pull access denied for x, repository does not exist or may require 'docker login'", nil, "", failedTerminal},
		{start, "CannotPullContainerError: AccessDeniedException: not authorized to perform ecr:BatchGetImage", nil, "", failedTerminal},
		{start, "Task failed to start", nil, "CannotPullContainerError: … not found", failedTerminal},
		{start, "CannotPullImageManifestError: … not found", nil, "", failedTerminal},
		// start
		{start, "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: request canceled", nil, "", failedBackoff},
		{start, "ResourceInitializationError: unable to pull secrets or registry auth: AccessDeniedException: …", nil, "", failedTerminal},
		{start, "ResourceInitializationError: failed to initialize logging driver: RequestError", nil, "", failedBackoff},
		{start, "failed to initialize logging driver: failed to create Cloudwatch log stream: AccessDeniedException", nil, "", failedTerminal},
		{start, "Task failed to start", nil, "CannotStartContainerError: exec: not there", failedTerminal},
		{exited, "Essential container in task exited", code(127), "CannotStartContainerError: exec: not there", failedTerminal},
		{start, "CannotCreateContainerError: API error", nil, "", failedTerminal},
		{start, "ContainerRuntimeTimeoutError: Could not transition to running; timed out after waiting 1m0s", nil, "", failedRetry},
		{start, "DockerTimeoutError: Could not transition to created", nil, "", failedRetry},
		// memory
		{exited, "Essential container in task exited", code(137), "OutOfMemoryError: Container killed due to memory usage", failedRetry},
		{exited, "Essential container in task exited", code(0), "OutOfMemoryError: container killed due to memory usage", failedRetry},
		{exited, "OUTOFMEMORYERROR: CONTAINER KILLED DUE TO MEMORY USAGE", code(0), "", failedRetry},
		{"UserInitiated", "Task stopped by user", code(0), "OutOfMemoryError: Container killed due to memory usage", failedRetry},
		// spot and host
		{"SpotInterruption", "Your Spot Task was interrupted.", code(30), "", interrupted},
		{"TerminationNotice", "Your Spot Task was interrupted.", code(137), "", interrupted},
		{"", "Your Spot Task was interrupted.", code(1), "", interrupted},
		{"SpotInterruption", "", nil, "", interrupted},
		{"", "Host EC2 (instance i-0123456789abcdef0) terminated.", nil, "", interrupted},
		{"ServiceSchedulerInitiated", "Host EC2 (instance i-0123456789abcdef0) stopped.", nil, "", interrupted},
		{"", "ECS is performing maintenance on the underlying infrastructure hosting the task.", code(30), "", interrupted},
		{"InfrastructureHealth", "anything", code(137), "", interrupted},
		// us and others
		{"UserInitiated", awserr.StopPrefix + "the session was terminated", code(30), "", meaning{session.StoppedByUs, session.Retry, false}},
		{"UserInitiated", awserr.StopPrefix + "the session was terminated", nil, "", meaning{session.StoppedByUs, session.Retry, false}},
		{"UserInitiated", awserr.StopPrefix + "over age", code(137), "", meaning{session.StoppedByUs, session.Retry, false}},
		{exited, awserr.StopPrefix + "not said by StopTask", code(20), "", failedRetry},
		{"UserInitiated", "Task stopped by user", code(30), "", meaning{session.StoppedEarly, session.Retry, false}},
		{"UserInitiated", "Task stopped by user", code(143), "", failedRetry},
		{"UserInitiated", "Task stopped by user", nil, "", failedRetry},
		{"UserInitiated", "CannotStartContainerError: a person's words", code(0), "", meaning{session.CleanExit, session.Retry, false}},
		// what nobody has seen
		{"MoonPhase", "waning", nil, "", failedRetry},
		{"MoonPhase", "waning", code(1), "", failedRetry},
		{"MoonPhase", "waning", code(0), "", meaning{session.CleanExit, session.Retry, false}},
		{"", "", nil, "", failedRetry},
		{exited, "Essential container in task exited", nil, "", failedRetry},
	} {
		got := awserr.StoppedTask(awserr.Stopped{Code: tc.code, Reason: tc.reason, ExitCode: tc.exit, ContainerReason: tc.container})
		if diff := cmp.Diff(tc.want, meaning{got.Verdict, got.Class, got.Breaker}, cmp.AllowUnexported(meaning{})); diff != "" {
			t.Errorf("%s, %q, %q (-want +got):\n%s", tc.code, tc.reason, tc.container, diff)
		}
	}
}

func TestWorkersExitCodesRowByRow(t *testing.T) {
	t.Parallel()
	for exit, want := range map[int32]meaning{
		0:   {session.CleanExit, session.Retry, false},
		10:  failedTerminal,
		11:  failedTerminal,
		12:  failedRetry,
		13:  {session.Failed, session.Backoff, false},
		14:  failedTerminal,
		15:  {session.Failed, session.Terminal, false},
		16:  failedTerminal,
		20:  failedRetry,
		30:  {session.StoppedEarly, session.Retry, false},
		1:   failedRetry,
		17:  failedRetry,
		137: failedRetry,
		143: failedRetry,
		-1:  failedRetry,
	} {
		got := awserr.StoppedTask(awserr.Stopped{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ExitCode: &exit})
		if diff := cmp.Diff(want, meaning{got.Verdict, got.Class, got.Breaker}, cmp.AllowUnexported(meaning{})); diff != "" {
			t.Errorf("exit %d (-want +got):\n%s", exit, diff)
		}
	}
}

func TestStopReasonsAreToldWholeButNotAtLength(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stopped awserr.Stopped
		want    session.Exit
	}{
		{awserr.Stopped{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ExitCode: code(12)},
			session.Exit{Verdict: session.Failed, Class: session.Retry,
				Reason: "the worker could not download the remote (exit 12): EssentialContainerExited: Essential container in task exited"}},
		{awserr.Stopped{Code: "EssentialContainerExited", ExitCode: code(7), ContainerReason: "odd"},
			session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "the worker exited 7: EssentialContainerExited: odd"}},
		{awserr.Stopped{}, session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "the task stopped without an exit code"}},
		{awserr.Stopped{Code: "UserInitiated", Reason: "outposts: the session sleeps", ExitCode: code(30)},
			session.Exit{Verdict: session.StoppedByUs, Class: session.Retry, Reason: "outposts: the session sleeps"}},
		{awserr.Stopped{Code: "SpotInterruption", Reason: strings.Repeat("ü", 900)},
			session.Exit{Verdict: session.Interrupted, Class: session.Retry, Reason: "SpotInterruption: " + strings.Repeat("ü", 381) + "…"}},
	} {
		if diff := cmp.Diff(tc.want, awserr.StoppedTask(tc.stopped)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.stopped, diff)
		}
	}
}
