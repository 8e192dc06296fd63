package session

import "time"

// View is everything known of one session at one moment. What was not read is marked so, and never taken for absent.
type View struct {
	Now   time.Time
	Lease *Lease // nil = there is none
	Entry Entry
	Tasks Tasks
	Try   Try   // what the last effect answered; cleared by the next write and by waiting
	Terms Terms // of the outpost
	Limit Limit // who wrote the lease's LaunchUntil
}

// Terms are an outpost's rules for its sessions.
type Terms struct {
	Known          bool // false: the outpost has left the configuration, so that its API cannot be called
	AcceptorID     string
	MaxFailures    int
	MaxAge         time.Duration
	RefusePolicies bool // sessions with a network policy are refused, since nothing here enforces one
	Draining       bool
	Capacity       []Choice // in order of preference; never empty when Known
}

// Choice is one capacity choice.
type Choice struct {
	Name    string
	Breaker Breaker
}

// Breaker says whether a capacity choice takes new sessions.
type Breaker string

// The positions of a breaker. It opens when launches fail for a reason that is not the session's own, and closes when a task runs.
const (
	Closed  Breaker = ""
	Opened  Breaker = "open"
	Probing Breaker = "probe" // its time is up: one session may try
)

// Reading says whether a thing was read, and what came of it.
type Reading string

// The readings.
const (
	Unread  Reading = ""
	Absent  Reading = "absent"
	Present Reading = "present"
	Failing Reading = "failing" // the read failed; Next waits rather than asks again at once
	Garbled Reading = "garbled" // as Failing, but it was answered with something that cannot be read, and may be for ever
)

// Entry is the session's queue entry.
type Entry struct {
	Reading    Reading
	At         time.Time // when it was read
	SessionID  string
	OutpostID  string
	Phase      string // pending, claimed
	AcceptorID string
	Status     string // pending, running, suspended, terminated
	Platform   string // empty = linux
	RemoteSHA  string
	Restricted bool // a network policy is enabled
	CreatedAt  time.Time
	Orphan     time.Time // when an earlier sweep first saw a claim of ours on it that no lease names; zero = never
}

// Tasks are the ECS tasks found for the session, of any attempt.
type Tasks struct {
	Reading Reading // Present also when the list was empty
	Partial bool    // one task's news, not the list
	At      time.Time
	List    []Task
}

// Task is one ECS task of the session.
type Task struct {
	ARN       string
	AttemptID string
	Status    string // lastStatus; MISSING when ECS did not know the ARN
	Desired   string // desiredStatus
	Version   int64
	CreatedAt time.Time
	Exit      *Exit     // set when Status is STOPPED
	Orphan    time.Time // when an earlier sweep first saw it without a lease that names it; zero = never
}

// Live says whether the task may still run something.
func (t Task) Live() bool { return t.Status != "STOPPED" && t.Status != "MISSING" }

// Exit is why a task stopped.
type Exit struct {
	Verdict Verdict
	Class   Class
	Breaker bool   // the fault is the capacity choice's, not the session's
	Reason  string // for people
}

// Class says how soon, if ever, it makes sense to try again. R, B and T in AWS's error tables.
type Class string

// The classes.
const (
	Retry    Class = "retry"
	Backoff  Class = "backoff"
	Terminal Class = "terminal"
)

// Try is what the last effect answered.
type Try struct {
	Kind    TryKind
	Class   Class     // Declined
	Breaker bool      // Declined: the fault is the capacity choice's, not the session's
	Reason  string    // for people
	Grant   Grant     // Granted
	ARN     string    // Accepted, Conflict
	Until   time.Time // Unclear: not again before
}

// TryKind is the shape of an answer.
type TryKind string

// The answers. One that the state at hand does not expect is ignored.
const (
	NotTried TryKind = ""
	// Claim and renew.
	Granted      TryKind = "granted"
	ClaimLost    TryKind = "claim_lost"    // somebody else's (409)
	ClaimUnknown TryKind = "claim_unknown" // no such entry (404)
	// RunTask.
	Accepted   TryKind = "accepted"
	Declined   TryKind = "declined"   // definitely no task from this call
	Conflict   TryKind = "conflict"   // the client token was used with other parameters; ARN may name the task
	Unservable TryKind = "unservable" // no request can be built for this session, or its token cannot be encrypted
	// Release.
	Released TryKind = "released" // or it was no longer ours
	// Any effect but StopTask: it may or may not have happened; not again before Until.
	Unclear TryKind = "unclear"
	// StopTask. A stop that failed is left to the next look, and keeps nothing else waiting.
	StopSent   TryKind = "stop_sent"
	StopFailed TryKind = "stop_failed"
)

// Grant is what a successful claim gave. The connect token is already encrypted.
type Grant struct {
	Status     string
	Platform   string    // empty = linux
	Began      time.Time // before the call
	Life       time.Duration
	Ciphertext string
	GatewayURL string
	RemoteSHA  string
	Fault      string // why this claim cannot be served; empty = it can
	Restricted bool   // a network policy is enabled
}

// Limit says who wrote LaunchUntil. Only the drive that wrote it sends RunTask under it, so that no two send it at once, and a refusal can be taken for what it is.
type Limit string

// The limits.
const (
	Foreign Limit = ""      // another drive wrote it, and may be sending RunTask
	Own     Limit = "own"   // this drive wrote it; earlier calls of the attempt may still land
	Clear   Limit = "clear" // this drive wrote it, and every call of the attempt was this drive's and answered for certain
)
