// Package lease keeps the leases of sessions, the slot counter of each outpost, and what the functions know of an outpost's health. There are two stores with one
// contract (package leasetest): [Dynamo] for AWS and [Memory] for tests and the simulator.
//
// Slots used equal the leases that have not ended, always: reserving and ending write the lease and the counter in one transaction. Every write of a lease is
// conditional on the epoch and revision that were read; losing that race is [ErrLost], an outcome and not a fault.
package lease

import (
	"context"
	"errors"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// The outcomes of a write that did not happen.
var (
	// ErrLost: somebody else wrote the lease since it was read.
	ErrLost = errors.New("the lease was written by somebody else")
	// ErrAtCapacity: the outpost has no free slot.
	ErrAtCapacity = errors.New("the outpost has no free slot")
	// ErrDraining: the outpost takes no new sessions.
	ErrDraining = errors.New("the outpost is draining")
)

// Store is everything the functions need of a lease table. Consumers declare the part they use.
type Store interface {
	// Get reads a lease, consistently; nil when there is none.
	Get(ctx context.Context, sessionID string) (*session.Lease, error)
	// Reserve writes the lease and takes one of max slots. ErrLost, ErrAtCapacity, ErrDraining.
	Reserve(ctx context.Context, to session.Lease, max int) error
	// Save writes the lease over its previous revision. ErrLost.
	Save(ctx context.Context, to session.Lease) error
	// End writes the ended lease over its previous revision and gives its slot back. ErrLost.
	End(ctx context.Context, to session.Lease) error
	// Active calls visit for each lease of the outpost that has not ended, as an index that may lag shows them.
	Active(ctx context.Context, outpostID string, visit func(session.Lease) error) error

	// Counter reads the outpost's slot counter, consistently.
	Counter(ctx context.Context, outpostID string) (Counter, error)
	// SetDraining starts or ends draining.
	SetDraining(ctx context.Context, outpostID string, draining bool) error
	// CorrectSlots sets the counter to what was counted, if it still reads from. ErrLost.
	CorrectSlots(ctx context.Context, outpostID string, from, to int) error

	// Note adds outposts to the list of those ever seen.
	Note(ctx context.Context, outpostIDs ...string) error
	// Noted is that list, sorted.
	Noted(ctx context.Context) ([]string, error)

	// Health reads what is known of the outpost's health.
	Health(ctx context.Context, outpostID string) (Health, error)
	// Polled notes that poll listed the outpost, and since when the oldest session waits that could be taken; zero = none waits.
	Polled(ctx context.Context, outpostID string, at, waiting time.Time) error
	// Beat notes that an invocation of poll has begun.
	Beat(ctx context.Context, outpostID string, at time.Time) error
	// Quiet notes until when the fleet API wants to be left alone, unless a later time is known.
	Quiet(ctx context.Context, outpostID string, until time.Time) error
	// Swept replaces what sweep remembers from run to run.
	Swept(ctx context.Context, outpostID string, m Memo) error
	// Trip opens a capacity choice's breaker until the given time.
	Trip(ctx context.Context, outpostID, choice string, b Breaker) error
	// Probe takes the one probe of a breaker whose time is up: it opens again until the given time. ErrLost when somebody else took it.
	Probe(ctx context.Context, outpostID, choice string, seen Breaker, until time.Time) error
	// Heal closes a breaker.
	Heal(ctx context.Context, outpostID, choice string) error
}

// Counter is an outpost's slot counter.
type Counter struct {
	SlotsUsed int
	Draining  bool
}

// Health is what is known of an outpost's health; zero values where nothing is.
type Health struct {
	LastPoll  time.Time // poll's last listing that succeeded
	Waiting   time.Time // since when, at that listing, the oldest session waited that could be taken; zero = none
	Heartbeat time.Time // the last start of poll
	// QuietUntil is until when the fleet API wants to be left alone; once it has passed it says nothing.
	QuietUntil time.Time
	Breakers   map[string]Breaker
	Memo       Memo
}

// Breaker is a capacity choice that failed for reasons of its own.
type Breaker struct {
	Until  time.Time // no new session before; then one may probe
	Trips  int       // in a row
	Reason string
}

// Memo is what sweep remembers from one run to the next.
type Memo struct {
	Orphans    map[string]time.Time // task ARN, "claim:" + session id, or a state of the slot counter that is wrong → first sighting
	NextClaims time.Time            // when the claims are listed next
	Resume     string               // the session to begin with, since the last run had no time for it; empty = any
}
