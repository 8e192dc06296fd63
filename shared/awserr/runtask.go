package awserr

import (
	"errors"

	ecs "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Refusal is what a RunTask that started nothing, or may not have, means.
type Refusal struct {
	Class    session.Class
	Definite bool   // no task came of this call
	Breaker  bool   // the fault is the capacity choice's, not the session's: others would meet it too
	Reason   string // for people
}

// launchRow is one row of RunTask's errors. A row without code or words fits every code or text.
type launchRow struct {
	code    string
	words   []string // made plain; one is enough
	class   session.Class
	breaker bool
}

// launchErrors are RunTask's errors that a retry at once does not mend, and their exceptions.
// Source: the ECS API reference, and public reports for the words.
var launchErrors = []launchRow{
	{"InvalidParameterException", throttleWords, session.Retry, false},
	{"InvalidParameterException", nil, session.Terminal, true},
	{"ClientException", []string{"provisioning"}, session.Retry, false},                                                      // 500 tasks in PROVISIONING in a cluster
	{"ClientException", []string{"assume the role", "assume role", "assume the service linked role"}, session.Backoff, true}, // IAM still spreading, or a role that is wrong
	{"ClientException", nil, session.Terminal, true},
	{"AccessDeniedException", nil, session.Terminal, true},
	{"BlockedException", nil, session.Terminal, true},
	{"ClusterNotFoundException", nil, session.Terminal, true},
	{"PlatformUnknownException", nil, session.Terminal, true},
	{"PlatformTaskDefinitionIncompatibilityException", nil, session.Terminal, true},
	{"UnsupportedFeatureException", nil, session.Terminal, true},
}

// launchFailures are the reasons in failures[] of a RunTask that HTTP calls a success. Every other one (RESOURCE:…, AGENT, "Capacity is unavailable at this
// time…") is a matter of capacity, and retried.
var launchFailures = []launchRow{
	{"", []string{"reached the limit on the number of vcpus"}, session.Backoff, true},
	{"", []string{"is above your limit", "above the limit"}, session.Terminal, true}, // requested CPU or MEMORY configuration
	{"", []string{"reason=location", "reason=attribute"}, session.Terminal, true},
}

// RunTaskError classifies an error of RunTask, of a call that was sent once: after a retry of an unclear call nothing is definite.
func RunTaskError(err error) Refusal {
	refusal := Refusal{Class: session.Retry, Definite: !Unclear(err), Reason: reason(Code(err), message(err))}
	if refusal.Reason == "" {
		refusal.Reason = reason(err.Error())
	}
	if !refusal.Definite || NotSent(err) || Throttled(err) {
		return refusal
	}
	refusal.Class, refusal.Breaker = find(launchErrors, Code(err), message(err))
	return refusal
}

// RunTaskFailure classifies one entry of RunTask's failures[]. It is definite.
func RunTaskFailure(why, detail string) Refusal {
	refusal := Refusal{Definite: true, Reason: reason(why, detail)}
	refusal.Class, refusal.Breaker = find(launchFailures, "", "reason="+why)
	return refusal
}

// ConflictingTasks are the tasks that RunTask's client token has already started with other parameters; ok says whether the error is such a conflict, which may
// name none.
func ConflictingTasks(err error) (arns []string, ok bool) {
	var conflict *ecs.ConflictException
	if errors.As(err, &conflict) {
		return conflict.ResourceIds, true
	}
	return nil, Code(err) == "ConflictException"
}

func find(table []launchRow, code, text string) (session.Class, bool) {
	text = plain(text)
	for _, row := range table {
		if (row.code == "" || row.code == code) && holdsAny(text, row.words) {
			return row.class, row.breaker
		}
	}
	return session.Retry, false
}
