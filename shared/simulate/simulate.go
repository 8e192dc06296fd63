package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
)

// Options say which world to simulate.
type Options struct {
	Seed     uint64
	Sessions int
	Without  []Fault // these never happen
	Trace    string  // a session whose life is written down; "*" = everything

	wrap func(*world, functions.Kit) functions.Kit // tests wrap the product's parts in faulty ones
	edit func(*plan)                               // tests choose what goes wrong
	day  *day                                      // a scenario of scale
}

// Violation is a rule that was broken.
type Violation struct {
	Rule    Rule
	Session string // empty when it is nobody's in particular
	At      time.Duration
	Text    string
}

// String tells the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s at %s: session %q: %s", v.Rule, clockText(v.At), v.Session, v.Text)
}

// Report is what came of a world.
type Report struct {
	Options    Options
	Sessions   int
	Faults     map[Fault]int
	Violations []Violation
	Calls      map[string]int // by service and verb
	Runs       map[string]int // invocations, by function
	Ends       map[string]int // leases ended, by outcome
	Took       time.Duration  // virtual
	Transcript []string       // of the traced session
	Profile    string         // the kind of weather
}

// Injected is the number of faults.
func (r Report) Injected() int {
	n := 0
	for _, f := range r.Faults {
		n += f
	}
	return n
}

// world is everything there is. It is single-threaded: nothing in it is locked.
type world struct {
	loop
	opts Options
	plan plan

	current *actor
	actors  map[*actor]bool
	idle    []*actor // coroutines without work
	serial  int
	begun   time.Duration // when the call whose effect happens now was made
	late    bool          // its caller gave up before it took effect

	faultsOff bool
	closed    bool // nothing new begins
	faults    map[Fault]int
	calls     map[service]map[string]int
	runs      map[string]int
	ends      map[string]int

	config  []config.Outpost
	kit     functions.Kit
	claim   func(context.Context, lambda.SQSEvent) (lambda.SQSEventResponse, error) // the function; tests put faulty ones in its place
	fleet   *fleet
	cluster *cluster
	store   *store
	queue   *queue
	judge   *judge

	cleanSweeps int
	faultAt     map[string]time.Duration // by session or outpost: when a call for it last met a fault; "" = one for no one in particular
	violations  []Violation
	transcript  []string
}

// Run simulates one world, from its first session to the moment when everything has settled.
func Run(opts Options) Report {
	w := &world{opts: opts, actors: map[*actor]bool{}, faults: map[Fault]int{}, calls: map[service]map[string]int{}, runs: map[string]int{}, ends: map[string]int{}, faultAt: map[string]time.Duration{"": -time.Hour}}
	w.rng = rand.New(rand.NewPCG(opts.Seed, 0x5e55105))
	for _, s := range services {
		w.calls[s] = map[string]int{}
	}
	w.plan = draw(&w.loop, opts)
	if opts.edit != nil {
		opts.edit(&w.plan)
	}
	w.config = w.plan.config
	w.fleet, w.cluster, w.store, w.queue = newFleet(w), newCluster(w), newStore(w), newQueue(w)
	w.judge = newJudge(w)
	if opts.day != nil {
		opts.day.w = w
	}
	w.kit, w.claim = w.newKit(), w.claimBatch
	if opts.wrap != nil {
		w.kit = opts.wrap(w, w.kit)
	}
	w.fleet.open()
	w.start()
	for len(w.violations) == 0 && !w.judge.settled && w.step(w.plan.limit) {
	}
	if len(w.violations) == 0 && !w.judge.settled {
		w.judge.unsettled()
	}
	w.abandon()
	return w.report()
}

// newKit wires the product's functions to this world.
func (w *world) newKit() functions.Kit {
	k := functions.Kit{
		AcceptorID: acceptor,
		Outposts:   func(context.Context) ([]config.Outpost, error) { return w.config, nil },
		Fleet:      func(o config.Outpost) functions.Fleet { return fleetPort{w, o.ID} },
		Tasks:      func(list []config.Outpost) functions.Tasks { return newTasksPort(w, list) },
		Store:      w.store,
		Offers:     w.queue,
		Sealer:     sealer{w},
		Teller:     teller{w},
		Clock:      clock{w},
		Jitter:     w.rng.Float64,
		NewID:      func() string { return fmt.Sprintf("%08x%04x", w.rng.Uint32(), w.serial&0xffff) },
		FanOut:     w.fanOut,
		Log:        slog.New(logs{w}),
	}
	if w.plan.watched {
		k.Watcher = func(config.Outpost) functions.Watcher { return watchPort{w} }
	}
	return k
}

// abandon ends all actors that are still under way, and all coroutines.
func (w *world) abandon() {
	w.closed = true
	for a := range w.actors {
		a.inv.dead = true
	}
	for len(w.actors) > 0 && w.step(w.now+time.Hour) { // each is in the queue, or waits for one that is
	}
	for _, a := range w.idle {
		a.end()
	}
}

func (w *world) report() Report {
	r := Report{Options: w.opts, Sessions: len(w.fleet.sessions), Faults: w.faults, Violations: w.violations, Calls: map[string]int{}, Runs: w.runs, Ends: w.ends,
		Took: w.now, Transcript: w.transcript, Profile: w.plan.profile}
	for s, verbs := range w.calls {
		for verb, n := range verbs {
			r.Calls[string(s)+" "+verb] = n
		}
	}
	return r
}

// note writes a line of the transcript, when the session is traced.
func (w *world) note(id, format string, args ...any) {
	if w.opts.Trace == "" || w.opts.Trace != "*" && w.opts.Trace != id {
		return
	}
	w.transcript = append(w.transcript, fmt.Sprintf("%s  %s  ", clockText(w.now), id)+fmt.Sprintf(format, args...))
}

func clockText(d time.Duration) string {
	d = d.Round(time.Millisecond)
	return fmt.Sprintf("%02d:%02d:%06.3f", int(d.Hours()), int(d.Minutes())%60, (d % time.Minute).Seconds())
}

// logs looks for tokens in what is logged.
type logs struct{ w *world }

// Enabled implements [slog.Handler].
func (logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (l logs) Handle(_ context.Context, r slog.Record) error {
	l.w.judge.clear("", "the log", r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindString {
			l.w.judge.clear("", "the log", a.Value.String())
		}
		return true
	})
	return nil
}

// WithAttrs implements [slog.Handler].
func (l logs) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements [slog.Handler].
func (l logs) WithGroup(string) slog.Handler { return l }

var _ lease.Store = (*store)(nil)
