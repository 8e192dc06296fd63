// Package drive carries sessions through their lives: it observes, asks package session for the one next action, applies it, puts what was learned into the View,
// and asks again, until there is only waiting left or the time is nearly up. All functions use it; they differ in what wakes them and what they already know.
// A crash at any line is repaired by the next driver that looks, since every write is fenced and every outside effect is named by what the lease holds.
//
// The driver starts no goroutine and reads no clock of its own: time, jitter and names are ports, so that a simulator can order everything.
package drive

import (
	"context"
	"log/slog"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// Leases are the fenced writes; their errors are those of package lease.
type Leases interface {
	Get(ctx context.Context, sessionID string) (*session.Lease, error)
	Reserve(ctx context.Context, to session.Lease, max int) error
	Save(ctx context.Context, to session.Lease) error
	End(ctx context.Context, to session.Lease) error
}

// Fleet is the fleet API as one outpost's account token sees it; its errors are those of package outposts.
type Fleet interface {
	Get(ctx context.Context, sessionID string) (outposts.Entry, error)
	Claim(ctx context.Context, sessionID, acceptorID string) (outposts.Claim, error)
	Release(ctx context.Context, sessionID, acceptorID string) error
}

// Tasks are the calls to ECS.
type Tasks interface {
	Run(ctx context.Context, l tasks.Launch) session.Try
	Stop(ctx context.Context, arn, why string) error
	OfSession(ctx context.Context, sessionID string, known ...string) ([]session.Task, error)
}

// Sealer encrypts a connect token for its session's worker; seal.ErrTooLong is final.
type Sealer interface {
	Seal(ctx context.Context, outpostID, sessionID string, token outposts.Secret) (string, error)
}

// Breakers open, probe (lease.ErrLost: somebody else probes) and close the breakers of capacity choices.
type Breakers interface {
	Trip(ctx context.Context, outpostID, choice string, b lease.Breaker) error
	Probe(ctx context.Context, outpostID, choice string, seen lease.Breaker, until time.Time) error
	Heal(ctx context.Context, outpostID, choice string) error
}

// Teller publishes steps of lives, best effort.
type Teller interface {
	Tell(ctx context.Context, steps []events.StateChange)
}

// Clock is time as the driver knows it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Driver applies actions. All fields are required but Teller and Metrics.
type Driver struct {
	Leases   Leases
	Tasks    Tasks
	Sealer   Sealer
	Breakers Breakers
	Teller   Teller
	Clock    Clock
	Jitter   func() float64 // from 0 up to 1
	NewID    func() string  // a fresh unique id
	Log      *slog.Logger
	Metrics  *telemetry.Recorder
}

// Outpost is what an invocation knows of a session's outpost.
type Outpost struct {
	ID       string
	Config   *config.Outpost // nil: it has left the configuration
	Fleet    Fleet           // nil with Config
	Terms    session.Terms
	Breakers map[string]lease.Breaker
}

// Job is one session to look after, and what is already known of it.
type Job struct {
	SessionID string
	Outpost   Outpost
	Entry     session.Entry
	Tasks     session.Tasks
	Patience  time.Duration // how long it may wait, in all, for something to become due
	Retries   bool          // it waits only to try again what failed in passing
	Until     time.Time     // nothing new is begun after it; zero = no limit
}

// Result is how a drive ended.
type Result struct {
	Lease *session.Lease // as last written or read; nil = none
	Wait  session.Wait   // what it would wait for
	Ended bool           // this drive ended the lease
	Full  bool           // the outpost had no free slot
	Err   error          // the last port's error that stands in the way, if any: it is worth coming back
}
