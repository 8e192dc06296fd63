package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/config"
)

// acceptor is the deployment's identity in the simulated fleet.
const acceptor = "outposts-simulated"

// plan is what a seed decides in advance: how the deployment is configured, and what kind of weather it meets.
type plan struct {
	profile string
	config  []config.Outpost
	later   []change // redeploys

	arrivals  time.Duration // sessions come until then
	calmAfter time.Duration // faults are on until then
	limit     time.Duration // everything must have settled by then
	width     int           // how many actors a fan-out may interleave

	absent  []string // functions that never run
	slow    float64  // share of tasks that wait for a machine from nothing
	lingers float64  // share of workers that stay when their session is over
	deaf    float64  // share of workers that do not stop by themselves at their deadline

	callFaults float64 // chance of a fault in one call
	mix        []Fault // what it then is; repeated = likelier
	zombies    float64 // chance that a function lives on after its time limit

	outages  []window
	broken   []window // functions
	capacity []window // choices that take no task
	hangs    []window // outposts for which the fleet API does not answer
	images   []window // choices whose tasks stop before they run

	messageLost, messageDoubled, messageLate      float64
	eventLost, eventDoubled, eventLate            float64
	indexLags, listLags, taskMissing              float64
	rivals, steals, flashes, blips, changes       float64 // chance for a session
	neverStarts, workerMute, workerDies, badClaim float64 // chance for a task, or a session
	doubled, foreignStops, silent, lies           float64
	tokenRefused                                  bool // the fleet API is down in that it refuses the account token
	watched                                       bool // the fleet API offers a stream
}

// change is a redeploy.
type change struct {
	at     time.Duration
	config []config.Outpost
	drains string // an outpost that is drained by hand from now on; empty = none is
}

// draw decides what the seed's world will be like.
func draw(l *loop, opts Options) plan {
	p := plan{arrivals: l.between(5*time.Minute, 30*time.Minute), width: l.from(1, 6), slow: 0.05, lingers: 0.2, watched: l.chance(0.25)}
	p.calmAfter = p.arrivals + l.between(20*time.Minute, 45*time.Minute)
	p.limit = p.calmAfter + 12*time.Hour
	p.config = drawConfig(l, opts.Sessions)
	switch n := l.from(0, 9); {
	case n == 0:
		p.profile = "fair"
	case n <= 2:
		p.profile = "a function is broken"
		what := []string{"poll", "claim", "observe", "sweep"}[l.from(0, 3)]
		from := l.between(0, p.arrivals)
		p.broken = []window{{from, from + l.between(10*time.Minute, time.Hour), what}}
	case n <= 4:
		p.profile = "one kind of call fault"
		p.callFaults, p.mix = 0.01+0.1*l.rng.Float64(), []Fault{callFaults[l.from(0, len(callFaults)-1)]}
		p.zombies = 0.5
	case n == 5:
		p.profile = "the world is unkind"
		p.unkind(l, 0.15)
	case n == 6:
		p.profile = "things vanish"
		p.vanish(l)
		p.calls(l, 0.01)
	default:
		p.profile = "everything at once"
		p.calls(l, 0.002+0.04*l.rng.Float64())
		p.unkind(l, 0.02+0.1*l.rng.Float64())
		p.messages(l, 0.1)
		if l.chance(0.5) {
			p.vanish(l)
		}
		if l.chance(0.5) {
			p.redeploys(l)
		}
	}
	if l.chance(0.3) {
		p.messages(l, 0.05)
	}
	if p.profile != "fair" && l.chance(0.15) {
		p.redeploys(l)
	}
	p.without(opts.Without)
	return p
}

func drawConfig(l *loop, sessions int) []config.Outpost {
	var list []config.Outpost
	for i := range l.from(1, 3) {
		o := config.Outpost{ID: fmt.Sprintf("outpost_env-%d", i+1), TokenSecret: "account", MaxSessions: max(2, l.from(sessions/8, sessions/2)), MaxFailures: l.from(1, 4),
			MaxAge: l.between(30*time.Minute, 3*time.Hour), RefusePolicies: l.chance(0.8), Watch: l.chance(0.5)}
		for j := range l.from(1, 2) {
			name := []string{"spot", "fargate"}[j]
			o.Capacity = append(o.Capacity, config.Capacity{Name: name, Provider: fmt.Sprintf("%s-%d", name, i+1),
				TaskDefinition: fmt.Sprintf("arn:aws:ecs:eu-central-1:111122223333:task-definition/worker-%d-%s:1", i+1, name), Container: "worker", Subnets: []string{"subnet-1"}})
		}
		list = append(list, o)
	}
	return list
}

func (p *plan) calls(l *loop, rate float64) {
	p.callFaults, p.zombies = rate, 0.2
	for _, f := range callFaults {
		for range l.from(0, 3) {
			p.mix = append(p.mix, f)
		}
	}
	if len(p.mix) == 0 {
		p.mix = callFaults
	}
}

// unkind has sessions, workers and others behave badly.
func (p *plan) unkind(l *loop, rate float64) {
	some := func() float64 {
		if l.chance(0.4) {
			return 0
		}
		return rate * l.rng.Float64() * 2
	}
	p.rivals, p.steals, p.flashes, p.blips, p.changes = some(), some(), some()*2, some(), some()*2
	if l.chance(0.5) {
		p.deaf = 0.3
	}
	p.neverStarts, p.workerMute, p.workerDies, p.badClaim = some(), some(), some()*2, some()
	p.indexLags, p.listLags, p.taskMissing = some()*4, some()*4, some()*4
	p.doubled, p.foreignStops, p.silent, p.lies = some(), some()/2, some()*3, some()*2
}

func (p *plan) messages(l *loop, rate float64) {
	some := func() float64 { return rate * l.rng.Float64() * 2 }
	p.messageLost, p.messageDoubled, p.messageLate = some(), some(), some()
	p.eventLost, p.eventDoubled, p.eventLate = some(), some(), some()
}

// vanish takes services, functions and capacity away for minutes to an hour.
func (p *plan) vanish(l *loop) {
	span := func(what string) window {
		from := l.between(0, p.arrivals)
		return window{from, from + l.between(2*time.Minute, time.Hour), what}
	}
	p.tokenRefused = l.chance(0.3)
	for range l.from(0, 2) {
		p.outages = append(p.outages, span(string(services[l.from(0, len(services)-1)])))
	}
	if l.chance(0.4) {
		p.broken = append(p.broken, span([]string{"poll", "claim", "observe", "sweep"}[l.from(0, 3)]))
	}
	if l.chance(0.5) {
		o := span([]string{"spot", "fargate"}[l.from(0, 1)])
		if l.chance(0.2) { // for hours
			o.to = o.from + l.between(time.Hour, 3*time.Hour)
			p.calmAfter = max(p.calmAfter, o.to)
		}
		p.capacity = append(p.capacity, o)
	}
	if l.chance(0.3) {
		p.hangs = append(p.hangs, span(p.config[l.from(0, len(p.config)-1)].ID))
	}
	if l.chance(0.3) {
		p.images = append(p.images, span([]string{"spot", "fargate"}[l.from(0, 1)]))
	}
}

// redeploys change the configuration once or twice: other limits, another order of capacity, an outpost drained or gone; at the end it is as it was.
func (p *plan) redeploys(l *loop) {
	for range l.from(1, 2) {
		list, drains := slices.Clone(p.config), ""
		o := &list[l.from(0, len(list)-1)]
		o.Capacity = slices.Clone(o.Capacity)
		switch l.from(0, 5) {
		case 0:
			o.MaxSessions = max(1, o.MaxSessions/2)
		case 1:
			o.MaxSessions *= 2
		case 2:
			o.MaxSessions = 0
		case 3:
			slices.Reverse(o.Capacity)
			o.MaxFailures = l.from(1, 4)
		case 4:
			if len(list) > 1 {
				list = slices.DeleteFunc(list, func(c config.Outpost) bool { return c.ID == o.ID })
			} else {
				o.MaxAge /= 2
			}
		case 5:
			drains = o.ID
		}
		p.later = append(p.later, change{l.between(2*time.Minute, p.calmAfter), list, drains})
	}
	p.later = append(p.later, change{p.calmAfter, p.config, ""})
}

// without takes out of the plan what is masked, where nothing else asks before it happens.
func (p *plan) without(masked []Fault) {
	for _, f := range masked {
		switch f {
		case Outage:
			p.outages = nil
		case Broken:
			p.broken = nil
		case CapacityGone:
			p.capacity = nil
		case Hangs:
			p.hangs = nil
		case BadImage:
			p.images = nil
		case Redeployed:
			p.later = nil
		}
	}
}

// start sets everything going: the schedules, the redeploys, the end of the faults, and the checks.
func (w *world) start() {
	w.every(time.Minute, func() { w.schedule("poll", w.plan.pollLimit(), w.poll) })
	w.every(time.Minute, func() { w.schedule("sweep", 58*time.Second, w.sweep) })
	w.every(30*time.Second, w.judge.look)
	if w.opts.day != nil {
		w.every(time.Minute, w.opts.day.minute)
	}
	for _, c := range w.plan.later {
		w.at(c.at, func() {
			if c.at < w.plan.calmAfter {
				w.faults[Redeployed]++
			}
			w.note("", "redeployed: %s", describe(c.config))
			w.config = c.config
			for _, o := range w.plan.config {
				_ = w.store.memory.SetDraining(context.Background(), o.ID, o.ID == c.drains)
			}
			w.judge.deploys(c.drains)
		})
	}
	w.at(w.plan.calmAfter, func() {
		w.note("", "from now on nothing goes wrong")
		w.faultsOff = true
	})
}

// pollLimit is the time limit of poll, as the stack sets it.
func (p plan) pollLimit() time.Duration {
	if p.watched {
		return 170 * time.Second
	}
	return time.Minute
}

// every does something again and again, until everything has settled.
func (w *world) every(d time.Duration, do func()) {
	var again func()
	again = func() {
		do()
		w.after(d, again)
	}
	w.after(0, again)
}

func describe(list []config.Outpost) string {
	s := ""
	for _, o := range list {
		s += fmt.Sprintf("%s max_sessions=%d max_failures=%d max_age=%s; ", o.ID, o.MaxSessions, o.MaxFailures, o.MaxAge)
	}
	return s
}
