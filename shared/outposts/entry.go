package outposts

import "time"

// Phase says whether somebody holds the claim on a session.
type Phase = string

// The phases of a queue entry.
const (
	PhasePending Phase = "pending" // nobody holds the claim
	PhaseClaimed Phase = "claimed" // Entry.AcceptorID holds it
)

// Status says what the session itself does, whoever holds its claim.
type Status = string

// The statuses of a session.
const (
	StatusPending    Status = "pending"    // no worker has connected yet
	StatusRunning    Status = "running"    // a worker serves it, or it counted as started when it was queued
	StatusSuspended  Status = "suspended"  // it sleeps
	StatusTerminated Status = "terminated" // it is over
)

// Kind says whether a session starts or wakes up.
type Kind = string

// The kinds of a queue entry.
const (
	KindNew    Kind = "new"
	KindResume Kind = "resume"
)

// Platform is the system a session wants to run on.
type Platform = string

// The platforms of a queue entry. A null platform is read as PlatformLinux,
// the service's documented default.
const (
	PlatformLinux   Platform = "linux"
	PlatformMacOS   Platform = "macos"
	PlatformWindows Platform = "windows"
)

// Entry is one session in an outpost's queue.
type Entry struct {
	SessionID string // opaque and never empty; not fit to be a path or a file name
	OutpostID string

	CreatedAt time.Time // when it was queued; zero when the service did not say
	UpdatedAt time.Time // its last change, by the service's clock; zero when the service did not say

	Kind     Kind
	Platform Platform
	// RemoteSHA is the commit of the devin-remote build to run, 7 to 64 hex
	// digits, or empty for the latest. It is not a checksum.
	RemoteSHA     string
	NetworkPolicy *NetworkPolicy // nil when the entry has none

	Phase         Phase
	AcceptorID    string    // who holds the claim; empty when nobody does
	ClaimDeadline time.Time // when the claim runs out, by the service's clock; zero when none is given, or Get or Claim could not read it
	Status        Status
}

// NetworkPolicy says where a session may connect to.
type NetworkPolicy struct {
	Enabled bool          // false = everything is allowed
	Allow   []NetworkRule // enabled and empty = nothing is allowed
}

// NetworkRule allows one destination; one of its fields is set.
type NetworkRule struct {
	Hostname string `json:"hostname,omitempty"` // a name, or a glob such as *.example.com
	IPv4     string `json:"ipv4,omitempty"`     // an address or a CIDR block
	IPv6     string `json:"ipv6,omitempty"`     // an address or a CIDR block
}

// Claim is what a successful claim or renewal answers.
type Claim struct {
	Entry
	ConnectToken Secret // for the worker of this session alone; may be empty: such a claim cannot be served
	GatewayURL   string // where the worker dials; as the service gave it, unchecked; may be empty
	// Life is how long the claim lasts, counted by our own clock from before
	// the call that got it. At least the field's five minutes are assumed when
	// the service gave no usable deadline, and never more than an hour.
	Life time.Duration
}

// Outpost is one queue of the account.
type Outpost struct {
	ID       string
	Name     string   // what people call it; may be empty
	Platform Platform // what its sessions run on unless they say otherwise
}

// Skip is a row of a list that could not be read.
type Skip struct {
	SessionID string // empty when the row had none
	Reason    string // which field, and what is wrong with it; at most 300 characters
}

// Listing is the complete answer to a ListQuery.
type Listing struct {
	Entries []Entry // one per session, oldest first
	Skipped []Skip  // rows that could not be read, in the order of their arrival
	Cursor  string  // where a watch takes over
}
