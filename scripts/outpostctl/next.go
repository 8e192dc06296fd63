package main

import (
	"fmt"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// next is what the core would do for a session now.
type next struct {
	Action  string    `json:"action"` // wait, read the queue entry, reserve, claim, renew the claim, save, run the task, stop the task, release, end, …
	State   string    `json:"state,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// describe tells an action in words.
func describe(v session.View, action session.Action) next {
	switch a := action.(type) {
	case session.Wait:
		return next{Action: "wait", Until: a.Until, Reason: a.Why}
	case session.ReadEntry:
		return next{Action: "read the queue entry", Reason: "the decision rests on a fresh one"}
	case session.ReadTasks:
		return next{Action: "read the tasks", Reason: "the decision rests on fresh ones"}
	case session.Reserve:
		n := next{Action: "reserve", State: string(session.Reserved), Reason: "the session waits and may be taken, if a slot is free"}
		if a.Probe != "" {
			n.Reason = "the session waits, and probes the capacity choice " + a.Probe + ", whose breaker was open"
		}
		return n
	case session.Claim:
		if a.Encrypt {
			return next{Action: "claim", Reason: "a connect token is wanted for the next launch"}
		}
		return next{Action: "renew the claim", Reason: "less than half of its life is left, or the queue no longer shows it as ours"}
	case session.Save:
		return saved(v.Lease, a)
	case session.RunTask:
		return next{Action: "run the task", Until: v.Lease.LaunchUntil, Reason: "the attempt has no task yet"}
	case session.StopTask:
		return next{Action: "stop the task", Reason: a.Why}
	case session.Release:
		return next{Action: "release the claim", Reason: "no task lives, and the outcome is known"}
	case session.End:
		return next{Action: "end", State: string(a.To.State), Outcome: string(a.To.Outcome), Reason: a.To.Reason}
	}
	return next{Action: fmt.Sprintf("%T", action)}
}

// saved tells a write of the lease by what it changes.
func saved(old *session.Lease, a session.Save) next {
	to := a.To
	n := next{Action: "write the lease", State: string(to.State), Outcome: string(to.Outcome), Reason: to.Reason}
	switch {
	case to.Doubt.Kind != session.NoDoubt && to.Doubt != old.Doubt:
		n.Reason = fmt.Sprintf("the session seems %s, read %d of those needed", to.Doubt.Kind, to.Doubt.Reads)
	case to.Attempt != old.Attempt:
		n.Reason = fmt.Sprintf("attempt %d is launched in %s", to.Attempt, to.Capacity)
	case to.State == session.Running && old.State != session.Running:
		n.Reason = "the task runs"
	case to.TaskARN != old.TaskARN:
		n.Reason = "the attempt's task was found"
	case old.Doubt.Kind != session.NoDoubt && to.State == old.State:
		n.Reason = "what looked worrying is not so"
	case old.ConnectedAt.IsZero() && !to.ConnectedAt.IsZero():
		n.Reason = "the worker serves the session"
	}
	return n
}

// String tells it to people.
func (n next) String(now time.Time) string {
	text := n.Action
	if n.Action == "wait" && n.Until.IsZero() {
		text += " for news"
	}
	if n.State != "" {
		text += " → " + n.State
	}
	if n.Outcome != "" {
		text += " (" + n.Outcome + ")"
	}
	if !n.Until.IsZero() {
		text += fmt.Sprintf(" until %s (%s)", n.Until.Local().Format(time.TimeOnly), until(now, n.Until))
	}
	if n.Reason != "" {
		text += ": " + n.Reason
	}
	return text
}
