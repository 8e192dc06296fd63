package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// State is where a lease stands in its life; see the package comment.
type State string

// The states of a lease. No lease, or one whose history has expired, has the empty state.
const (
	None      State = ""
	Reserved  State = "reserved"
	Claimed   State = "claimed"
	Launching State = "launching"
	Running   State = "running"
	Stopping  State = "stopping"
	Ended     State = "ended"
)

// Outcome says how a lease ended, or, while it is stopping, how it will.
type Outcome string

// The outcomes of a lease.
const (
	Undecided Outcome = ""
	Completed Outcome = "completed" // the session is terminated
	Suspended Outcome = "suspended" // the session sleeps; it may come back as a resume
	Lost      Outcome = "lost"      // the claim was lost or stolen, or the entry vanished
	GaveUp    Outcome = "gave_up"   // the budget of failures is spent
	Refused   Outcome = "refused"   // the session cannot be served here, whatever is tried
	Drained   Outcome = "drained"   // the outpost is being emptied
)

// Verdict says what the end of an attempt meant. It is written when the lease goes to stopping, so that it outlives ECS's own memory of the task (an hour).
type Verdict string

// The verdicts.
const (
	NoVerdict    Verdict = ""
	CleanExit    Verdict = "clean"         // the remote exited 0: the session ended or sleeps; its status will say which
	Failed       Verdict = "failed"        // counts against the budget of failures
	Interrupted  Verdict = "interrupted"   // Spot or host reclaimed, or an attempt that never was: does not count
	StoppedByUs  Verdict = "stopped"       // ECS gives our own StopTask reason
	StoppedEarly Verdict = "stopped_early" // the worker says it was stopped from outside or by the session's deadline (exit 30)
)

// SchemaVersion is the version of the lease's stored form that this code writes. A row of a newer version is left alone.
const SchemaVersion = 1

// Lease is what we hold for one session. One item in the lease table; times are UTC in our own clock.
type Lease struct {
	Schema    int
	SessionID string
	OutpostID string
	State     State
	Outcome   Outcome
	Verdict   Verdict
	Reason    string // the last reason, for people; never holds a secret

	Epoch    string // unique for each reservation
	Rev      int64  // rises by one with every write, over all epochs
	Writer   string // who wrote this revision: two who write the same at the same moment are told apart by it
	Attempt  int    // rises with every new launch, over all epochs
	Failures int    // attempts and rounds of launching that failed since the reservation or since ten connected minutes; a round counts when the next one begins
	GaveUps  int    // consecutive reservations that ended gave_up or refused; sets NotBefore

	TaskARN     string
	Capacity    string    // name of the capacity choice of this attempt
	ClaimedAt   time.Time // when the claim was last made or renewed, from before the call
	ClaimUntil  time.Time // ClaimedAt plus the claim's life; zero = no claim of ours is known
	Ciphertext  string    // the connect token, encrypted, base64
	GatewayURL  string
	RemoteSHA   string    // commit of devin-remote that the session pins; empty = latest
	LaunchUntil time.Time // no RunTask of this attempt is sent after it
	Deadline    time.Time // the session's maximum age is reached
	NotBefore   time.Time // launching: no round before; stopping: no relaunch before; ended: no reservation before
	ConnectedAt time.Time // when this attempt's worker was first seen serving; zero = not yet
	Doubt       Doubt     // evidence that needs more than one read
	ReservedAt  time.Time
	StateAt     time.Time // when State was entered
	UpdatedAt   time.Time
	EndedAt     time.Time
	ExpiresAt   time.Time // only on ended leases: when the row may be deleted
}

// Active says whether the lease holds a slot.
func (l *Lease) Active() bool { return l != nil && l.State != None && l.State != Ended }

// AttemptID names the current attempt: it is the RunTask client token (at most 64 characters) and OUTPOST_ATTEMPT_ID. It derives from stored state only, so
// that a repeated call is the same call.
func (l *Lease) AttemptID() string {
	sum := sha256.Sum256([]byte(l.SessionID + "\x00" + l.Epoch + "\x00" + strconv.Itoa(l.Attempt)))
	return hex.EncodeToString(sum[:20])
}

// Doubt counts reads that all say the same worrying thing. Acting on it needs [evidence] reads, each at least so far from the one before.
type Doubt struct {
	Kind  DoubtKind
	Reads int
	At    time.Time // when the last read that counted was over
}

// DoubtKind is what the reads say.
type DoubtKind string

// The kinds of doubt.
const (
	NoDoubt        DoubtKind = ""
	SeemsSuspended DoubtKind = "suspended"
	SeemsOver      DoubtKind = "terminated"
	SeemsVanished  DoubtKind = "vanished"        // the queue has no such entry
	SeemsStolen    DoubtKind = "stolen"          // somebody else holds the claim
	SeemsGone      DoubtKind = "gone"            // ECS knows no such task
	SeemsMute      DoubtKind = "unconnected"     // the worker has not connected within [ConnectLimit]
	RenewalLost    DoubtKind = "renewal_lost"    // a renewal was told that somebody else holds the claim
	RenewalUnknown DoubtKind = "renewal_unknown" // a renewal was told that there is no such entry
)
