package events

import "time"

// How lifecycle events are found on the EventBridge bus.
const (
	Source     = "devin.outposts"
	DetailType = "Outpost Session State Change"
)

// StateChangeVersion is the version of [StateChange].
const StateChangeVersion = 1

// StateChange is the detail of a lifecycle event: one step of a session's life, told for people's own rules, best effort. It holds no secret.
type StateChange struct {
	Version   int       `json:"version" jsonschema:"enum=1,description=Always 1."`
	ID        string    `json:"id" jsonschema:"minLength=1,description=session/epoch/rev: the same step told twice has the same id."`
	OutpostID string    `json:"outpost_id" jsonschema:"minLength=1,description=The outpost that the session belongs to."`
	SessionID string    `json:"session_id" jsonschema:"minLength=1,description=The session."`
	From      string    `json:"from" jsonschema:"enum=,enum=reserved,enum=claimed,enum=launching,enum=running,enum=stopping,enum=ended,description=The state before; empty when there was no lease."`
	To        string    `json:"to" jsonschema:"enum=reserved,enum=claimed,enum=launching,enum=running,enum=stopping,enum=ended,description=The state now."`
	Outcome   string    `json:"outcome" jsonschema:"enum=,enum=completed,enum=suspended,enum=lost,enum=gave_up,enum=refused,enum=drained,description=How the lease ended or will end; empty while that is open."`
	Reason    string    `json:"reason" jsonschema:"description=For people; may be empty."`
	Attempt   int       `json:"attempt" jsonschema:"minimum=0,description=Which launch of the session this is; 0 = none yet."`
	TaskARN   string    `json:"task_arn" jsonschema:"description=The ECS task; empty when there is none."`
	At        time.Time `json:"at" jsonschema:"description=When the step was written (RFC 3339)."`
}
