package awserr

import (
	"strconv"
	"strings"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// StopPrefix begins every reason that we give to StopTask, so that a stop of ours can be told from anybody else's.
const StopPrefix = "outposts: "

// userInitiated is the stopCode of a task stopped by StopTask, by whomever.
const userInitiated = "UserInitiated"

// Stopped is what is known of a task that ECS calls STOPPED.
type Stopped struct {
	Code            string // stopCode; unknown ones and none at all occur
	Reason          string // stoppedReason
	ExitCode        *int32 // of the worker's container; nil = it has none, which is not 0
	ContainerReason string // of the worker's container
}

// stopRow is one row of the reasons for which a task does not start or is taken away.
type stopRow struct {
	all     []string // every one must stand in the text
	any     []string // and one of these; empty = that is enough
	verdict session.Verdict
	class   session.Class
	breaker bool
}

// denied are the words by which AWS and registries say that we may not.
var denied = []string{"accessdenied", "access denied", "not authorized", "unauthorized", "forbidden", "no basic auth credentials", "authorization failed"}

// stopReasons are the texts in stoppedReason and in the container's reason. Source: the ECS developer guide ("stopped task error messages"), and public reports.
var stopReasons = []stopRow{
	// Taken away: not the session's fault, nor the choice's.
	{all: []string{"your spot task was interrupted"}, verdict: session.Interrupted, class: session.Retry},
	{all: []string{"host ec2"}, any: []string{"terminated", "stopped"}, verdict: session.Interrupted, class: session.Retry},
	{all: []string{"ecs is performing maintenance"}, verdict: session.Interrupted, class: session.Retry},
	// Memory: whatever the exit code says. The budget of failures limits it.
	{all: []string{"outofmemoryerror"}, verdict: session.Failed, class: session.Retry},
	// Image.
	{all: []string{"cannotpull", "toomanyrequests"}, verdict: session.Failed, class: session.Backoff, breaker: true},
	{all: []string{"cannotpull"}, any: []string{"i/o timeout", " eof"}, verdict: session.Failed, class: session.Retry},
	{all: []string{"cannotpull"}, any: append([]string{"not found", "manifest unknown", "does not exist", "descriptor matching platform"}, denied...), verdict: session.Failed, class: session.Terminal, breaker: true},
	{all: []string{"cannotpull"}, verdict: session.Failed, class: session.Retry},
	// Network interface.
	{all: []string{"insufficientfreeaddressesinsubnet"}, verdict: session.Failed, class: session.Backoff, breaker: true},
	{all: []string{"timeout waiting for network interface"}, verdict: session.Failed, class: session.Retry},
	{all: []string{"resourceinitializationerror", "failed to configure eni"}, verdict: session.Failed, class: session.Retry},
	// Start.
	{all: []string{"resourceinitializationerror"}, any: denied, verdict: session.Failed, class: session.Terminal, breaker: true},
	{all: []string{"failed to initialize logging driver"}, any: denied, verdict: session.Failed, class: session.Terminal, breaker: true},
	{all: []string{"resourceinitializationerror", "failed to validate logger args"}, verdict: session.Failed, class: session.Backoff, breaker: true}, // no such log group
	{all: []string{"unable to pull secrets or registry auth"}, verdict: session.Failed, class: session.Backoff, breaker: true},
	{all: []string{"failed to initialize logging driver"}, verdict: session.Failed, class: session.Backoff, breaker: true},
	{any: []string{"cannotstartcontainererror", "cannotcreatecontainererror"}, verdict: session.Failed, class: session.Terminal, breaker: true},
	{any: []string{"containerruntimetimeouterror", "dockertimeouterror"}, verdict: session.Failed, class: session.Retry},
	// Placement. RESOURCE:…, EMPTY CAPACITY PROVIDER, NO ACTIVE INSTANCES and AGENT are retried, as is what is not known.
	{all: []string{"taskfailedtostart: attribute"}, verdict: session.Failed, class: session.Terminal, breaker: true},
	{all: []string{"memberof placement constraint unsatisfied"}, verdict: session.Failed, class: session.Terminal, breaker: true},
}

// stopCodes are the stopCodes that decide by themselves.
var stopCodes = map[string]session.Verdict{
	"SpotInterruption":     session.Interrupted,
	"TerminationNotice":    session.Interrupted,
	"InfrastructureHealth": session.Interrupted,
}

// exitRow is what one of the worker's exit codes means.
type exitRow struct {
	verdict session.Verdict
	class   session.Class
	breaker bool
	reason  string
}

// exitCodes are the worker's exit codes. Any other is a failure that is retried.
var exitCodes = map[int32]exitRow{
	0:  {session.CleanExit, session.Retry, false, "the remote exited 0"},
	10: {session.Failed, session.Terminal, true, "the worker's configuration is bad (exit 10)"},
	11: {session.Failed, session.Terminal, true, "the worker could not decrypt its connect token (exit 11)"},
	12: {session.Failed, session.Retry, false, "the worker could not download the remote (exit 12)"},
	13: {session.Failed, session.Backoff, false, "the remote's checksum did not match (exit 13)"},
	14: {session.Failed, session.Terminal, true, "the worker could not start the remote (exit 14)"},
	15: {session.Failed, session.Terminal, false, "the set-up script failed (exit 15)"},
	16: {session.Failed, session.Terminal, true, "the machine does not fit the worker (exit 16)"},
	20: {session.Failed, session.Retry, false, "the remote failed (exit 20)"},
	30: {session.StoppedEarly, session.Retry, false, "the worker was stopped from outside or by the session's deadline (exit 30)"},
}

// StoppedTask says what a stopped task means.
func StoppedTask(s Stopped) session.Exit {
	if s.Code == userInitiated && strings.HasPrefix(s.Reason, StopPrefix) {
		return session.Exit{Verdict: session.StoppedByUs, Class: session.Retry, Reason: reason(s.Reason)}
	}
	told := reason(s.Code, s.Reason, s.ContainerReason)
	if verdict, ok := stopCodes[s.Code]; ok {
		return session.Exit{Verdict: verdict, Class: session.Retry, Reason: told}
	}
	texts := plain(s.Code + ": " + s.Reason + "\n" + s.ContainerReason)
	if s.Code == userInitiated {
		texts = plain(s.ContainerReason) // the other text is a person's
	}
	for _, row := range stopReasons {
		if row.fits(texts) {
			return session.Exit{Verdict: row.verdict, Class: row.class, Breaker: row.breaker, Reason: told}
		}
	}
	if s.ExitCode == nil {
		return session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: reason("the task stopped without an exit code", told)}
	}
	row, known := exitCodes[*s.ExitCode]
	if !known {
		row = exitRow{session.Failed, session.Retry, false, "the worker exited " + strconv.Itoa(int(*s.ExitCode))}
	}
	return session.Exit{Verdict: row.verdict, Class: row.class, Breaker: row.breaker, Reason: reason(row.reason, told)}
}

func (r stopRow) fits(text string) bool {
	for _, word := range r.all {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return holdsAny(text, r.any)
}
