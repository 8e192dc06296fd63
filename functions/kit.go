// Package functions holds what the four functions share: the parts they are wired from (Kit), and what one invocation knows (Run). Each function is a package
// below, with the main that Lambda runs in its folder lambda.
package functions

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// Fleet is the fleet API as one outpost's account token sees it.
type Fleet interface {
	drive.Fleet
	List(ctx context.Context, q outposts.ListQuery) (outposts.Listing, error)
}

// Watcher follows an outpost's queue as a stream.
type Watcher interface {
	Watch(ctx context.Context, outpostID, cursor string, handle func(outposts.Event) error) (string, error)
}

// Tasks are the calls to ECS, for the task definitions of some outposts.
type Tasks interface {
	drive.Tasks
	All(ctx context.Context) ([]tasks.Seen, error)
	FromEvent(e events.TaskStateChange) (tasks.Seen, bool)
}

// Offers is the offer queue.
type Offers interface {
	Send(ctx context.Context, list []events.Offer) error
}

// Kit is what the functions are wired from. All fields are required but Watcher, Teller and Metrics.
type Kit struct {
	AcceptorID string
	Outposts   func(ctx context.Context) ([]config.Outpost, error) // may answer a list and an error: the last good list
	Fleet      func(o config.Outpost) Fleet
	Watcher    func(o config.Outpost) Watcher // nil: outposts are listed only
	Tasks      func(list []config.Outpost) Tasks
	Store      lease.Store
	Offers     Offers
	Sealer     drive.Sealer
	Teller     drive.Teller
	Clock      drive.Clock
	Jitter     func() float64
	NewID      func() string
	FanOut     func(n, atOnce int, do func(i int)) // runs do for each index, at most so many at once, and waits
	Log        *slog.Logger
	Metrics    *telemetry.Recorder
}

// WorstCall is how long one call of a port may take: nothing new is begun when less time is left.
const WorstCall = 12 * time.Second

// Run is one invocation.
type Run struct {
	Kit
	Configured []config.Outpost
	TasksAPI   Tasks
	Driver     *drive.Driver
	Until      time.Time // nothing new is begun after it; zero = no limit

	mu    sync.Mutex
	read  map[string]*outpost
	quiet map[string]*quiet // by outpost; not forgotten with what was read
}

type outpost struct {
	once sync.Once
	err  error
	Outpost
}

// Outpost is what an invocation read of an outpost.
type Outpost struct {
	drive.Outpost
	Fleet   Fleet   // nil when the outpost has left the configuration; leaves the API alone when it wants to be
	Watcher Watcher // does so, too; nil when outposts are listed only
	Counter lease.Counter
	Health  lease.Health
	quiet   *quiet
}

// Quiet is how long the fleet API wants to be left alone from now on; until then every call is answered with *outposts.RateLimitedError and not sent. 0 = it does not.
func (o Outpost) Quiet() time.Duration { return o.quiet.rest() }

// Begin starts an invocation: it reads the configuration. A configuration that cannot be read anew is no reason to stop serving by the last good one.
func (k Kit) Begin(ctx context.Context) (*Run, error) {
	list, err := k.Outposts(ctx)
	if err != nil {
		if len(list) == 0 {
			return nil, err
		}
		k.Log.Error("configuration not read, the last good one is used", "error", err.Error())
	}
	r := &Run{Kit: k, Configured: list, TasksAPI: k.Tasks(list), read: map[string]*outpost{}, quiet: map[string]*quiet{}}
	r.Driver = &drive.Driver{Leases: k.Store, Tasks: r.TasksAPI, Sealer: k.Sealer, Breakers: k.Store, Teller: k.Teller, Clock: k.Clock, Jitter: k.Jitter,
		NewID: k.NewID, Log: k.Log, Metrics: k.Metrics}
	if deadline, ok := ctx.Deadline(); ok {
		r.Until = deadline.Add(-WorstCall)
	}
	return r, nil
}

// Config is the configuration of an outpost; nil when it has none.
func (r *Run) Config(id string) *config.Outpost {
	for i := range r.Configured {
		if r.Configured[i].ID == id {
			return &r.Configured[i]
		}
	}
	return nil
}

// Outpost reads what an outpost's sessions depend on, once an invocation.
func (r *Run) Outpost(ctx context.Context, id string) (Outpost, error) {
	r.mu.Lock()
	o := r.read[id]
	if o == nil {
		o = &outpost{}
		r.read[id] = o
	}
	r.mu.Unlock()
	o.once.Do(func() { o.Outpost, o.err = r.readOutpost(ctx, id) })
	return o.Outpost, o.err
}

func (r *Run) readOutpost(ctx context.Context, id string) (Outpost, error) {
	counter, err := r.Store.Counter(ctx, id)
	health, err2 := r.Store.Health(ctx, id)
	if err := errors.Join(err, err2); err != nil {
		return Outpost{}, err
	}
	o := Outpost{Outpost: drive.Outpost{ID: id, Terms: session.Terms{AcceptorID: r.AcceptorID, Draining: counter.Draining}}, Counter: counter, Health: health,
		quiet: r.quietOf(id)}
	o.quiet.extend(health.QuietUntil)
	c := r.Config(id)
	if c == nil {
		return o, nil
	}
	o.Fleet = politeFleet{r.Kit.Fleet(*c), o.quiet}
	if r.Kit.Watcher != nil {
		o.Watcher = politeWatcher{r.Kit.Watcher(*c), o.quiet}
	}
	o.Outpost.Config, o.Outpost.Fleet, o.Outpost.Breakers = c, o.Fleet, health.Breakers
	o.Terms = c.Terms(r.AcceptorID)
	o.Terms.Draining = o.Terms.Draining || counter.Draining
	for i := range o.Terms.Capacity {
		if b, ok := health.Breakers[o.Terms.Capacity[i].Name]; ok {
			o.Terms.Capacity[i].Breaker = session.Opened
			if !r.Clock.Now().Before(b.Until) {
				o.Terms.Capacity[i].Breaker = session.Probing
			}
		}
	}
	return o, nil
}

func (r *Run) quietOf(id string) *quiet {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet[id] == nil {
		r.quiet[id] = &quiet{run: r, id: id}
	}
	return r.quiet[id]
}

// Free is how many slots the outpost had free when it was read.
func (o Outpost) Free() int {
	if o.Config == nil || o.Terms.Draining {
		return 0
	}
	return max(0, o.Config.MaxSessions-o.Counter.SlotsUsed)
}

// OutOfTime says whether nothing new is to be begun.
func (r *Run) OutOfTime() bool { return !r.Until.IsZero() && r.Clock.Now().After(r.Until) }

// Forget has an outpost read again: what this invocation did has changed it.
func (r *Run) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.read, id)
}

// How long a drive may wait for something to become due: claim tries again what failed in passing, but keeps the offers behind it waiting for nothing else; an event waits for a session's status to
// follow the exit of its remote; sweep, which looks at many, waits only for what takes seconds.
const (
	BriefPatience = 5 * time.Second
	LongPatience  = 20 * time.Second
	SweepPatience = 8 * time.Second
)
