package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Scenario is a long time at a large scale. Services take as long as they usually do, and keep to their quotas.
type Scenario struct {
	Name     string
	Sessions int
	Hours    int // the sessions arrive within
	Outposts int
	Slots    int   // of each outpost
	Bursts   []int // hours at which a twentieth of the sessions comes within ten minutes

	NoCapacity window // no capacity choice takes a task
	NoFleet    window // the fleet API answers nothing
	Poisoned   bool   // every task of the last outpost stops before it runs
}

// Scenarios are those of docs/scale.md.
func Scenarios() []Scenario {
	day := Scenario{Sessions: 100000, Hours: 24, Outposts: 10, Slots: 400, Bursts: []int{3, 9, 14, 20}}
	morning := day // six hours at the same rate
	morning.Sessions, morning.Hours, morning.Bursts = 25000, 6, []int{1, 5}
	ordinary, capacity, api, poisoned, tenfold := day, morning, morning, morning, morning
	ordinary.Name = "a day with bursts"
	capacity.Name, capacity.NoCapacity = "no capacity for two hours", window{2 * time.Hour, 4 * time.Hour, ""}
	api.Name, api.NoFleet = "no fleet API for one hour", window{2 * time.Hour, 3 * time.Hour, ""}
	poisoned.Name, poisoned.Poisoned = "one of ten outposts poisoned", true
	tenfold.Name, tenfold.Sessions, tenfold.Hours, tenfold.Slots, tenfold.Bursts = "ten times as much, for an hour", 42000, 1, 4000, nil
	return []Scenario{ordinary, capacity, api, poisoned, tenfold}
}

// Minute is what stood at the end of a minute.
type Minute struct {
	Waiting int            `json:"waiting"` // sessions in the queue that may be taken
	Oldest  float64        `json:"oldest_seconds"`
	Slots   int            `json:"slots_used"`
	Tasks   int            `json:"tasks_running"`
	Calls   map[string]int `json:"calls"` // in this minute, by service
	Sweep   float64        `json:"sweep_seconds"`
}

// Figures are what came of a scenario.
type Figures struct {
	Scenario   string         `json:"scenario"`
	Sessions   int            `json:"sessions"`
	Ends       map[string]int `json:"leases_ended"`
	Violations int            `json:"violations"`
	Wait       Waits          `json:"waiting_seconds"`        // from the queue to our claim
	Others     Waits          `json:"waiting_seconds_others"` // the same, of the outposts that are not poisoned
	Recovered  float64        `json:"recovered_after_seconds"`
	Busiest    int            `json:"most_slots_used"`
	Sweep      float64        `json:"longest_sweep_seconds"`
	Throttled  int            `json:"run_task_throttled"`
	Calls      map[string]int `json:"calls"`
	Peak       map[string]int `json:"most_calls_in_a_minute"`
	Runs       map[string]int `json:"invocations"`
	Minutes    []Minute       `json:"-"`
}

// Waits are quantiles of waiting times, in seconds.
type Waits struct {
	Half  float64 `json:"p50"`
	Most  float64 `json:"p95"`
	Worst float64 `json:"worst"`
}

// day is a scenario as it runs.
type day struct {
	Scenario
	w         *world
	waits     []float64
	others    []float64
	minutes   []Minute
	before    map[string]int
	tokens    float64 // of ECS's bucket for RunTask
	filled    time.Duration
	throttled int
	sweep     time.Duration // the longest of this minute
	longest   time.Duration
}

// Quotas of ECS that a scenario keeps to: RunTask calls a second on Fargate, and tasks in PROVISIONING in a cluster.
const (
	runTasksASecond = 20
	mostStarting    = 500
)

// Simulate runs the scenario. The same seed gives the same figures.
func (s Scenario) Simulate(seed uint64) Figures {
	d := &day{Scenario: s, before: map[string]int{}, tokens: runTasksASecond}
	r := Run(Options{Seed: seed, Sessions: s.Sessions, day: d, edit: d.plan})
	f := Figures{Scenario: s.Name, Sessions: r.Sessions, Ends: r.Ends, Violations: len(r.Violations), Wait: quantiles(d.waits), Others: quantiles(d.others), Sweep: d.longest.Seconds(),
		Throttled: d.throttled, Runs: r.Runs, Calls: byService(r.Calls), Peak: map[string]int{}, Minutes: d.minutes}
	for _, m := range d.minutes {
		f.Busiest = max(f.Busiest, m.Slots)
		for name, n := range m.Calls {
			f.Peak[name] = max(f.Peak[name], n)
		}
	}
	f.Recovered = d.recovered().Seconds()
	return f
}

// plan is the scenario as the world's plan.
func (d *day) plan(p *plan) {
	hours := time.Duration(d.Hours) * time.Hour
	*p = plan{profile: d.Name, arrivals: hours, calmAfter: hours + time.Minute, limit: hours + 12*time.Hour, width: 32, slow: 0.02, lingers: 0.1}
	for i := range d.Outposts {
		o := config.Outpost{ID: fmt.Sprintf("outpost_env-%d", i+1), TokenSecret: "account", MaxSessions: d.Slots, MaxFailures: 3, MaxAge: 24 * time.Hour, RefusePolicies: true}
		for _, name := range []string{"spot", "fargate"} {
			o.Capacity = append(o.Capacity, config.Capacity{Name: name, Provider: name + "-1", Container: "worker", Subnets: []string{"subnet-1"},
				TaskDefinition: fmt.Sprintf("arn:aws:ecs:eu-central-1:111122223333:task-definition/worker-%d-%s:1", i+1, name)})
		}
		p.config = append(p.config, o)
	}
	if d.NoCapacity.to > 0 {
		p.capacity = []window{{d.NoCapacity.from, d.NoCapacity.to, "spot"}, {d.NoCapacity.from, d.NoCapacity.to, "fargate"}}
	}
	if d.NoFleet.to > 0 {
		p.outages = []window{{d.NoFleet.from, d.NoFleet.to, string(fleetAPI)}}
	}
	if d.Poisoned {
		p.images = []window{{0, hours, p.config[d.Outposts-1].ID}}
	}
}

// draw decides when a session arrives, and how long it works: 20 minutes on average, some for hours.
func (d *day) draw(s *devin, i int) {
	w := d.w
	hours := time.Duration(d.Hours) * time.Hour
	s.left = time.Duration(math.Min(-math.Log(1-w.rng.Float64())*float64(20*time.Minute), float64(4*time.Hour))).Round(time.Millisecond) + 30*time.Second
	s.platform, s.restricted, s.resumes = "", false, 0
	if share := d.Sessions / 20; i < share*len(d.Bursts) {
		s.arrives = time.Duration(d.Bursts[i/share])*time.Hour + w.between(0, 10*time.Minute)
		return
	}
	for { // the day is busier at noon than at night
		s.arrives = w.between(0, hours-time.Minute)
		if w.rng.Float64() < 0.6-0.4*math.Cos(2*math.Pi*float64(s.arrives)/float64(hours)) {
			return
		}
	}
}

// latency is how long the services usually take.
func (d *day) latency(s service, verb string) time.Duration {
	w := d.w
	switch {
	case s == table && verb == "Query":
		return w.between(5*time.Millisecond, 20*time.Millisecond) + time.Duration(d.Slots/200)*10*time.Millisecond // a page holds about 200 leases
	case s == table:
		return w.between(3*time.Millisecond, 10*time.Millisecond)
	case s == fleetAPI && verb == "list":
		return time.Duration(1+d.Slots/200) * w.between(60*time.Millisecond, 200*time.Millisecond) // pages
	case s == fleetAPI:
		return w.between(40*time.Millisecond, 150*time.Millisecond)
	case verb == "RunTask":
		return w.between(500*time.Millisecond, 1500*time.Millisecond)
	case verb == "ListTasks":
		return time.Duration(2+len(w.cluster.tasks)/100) * w.between(40*time.Millisecond, 80*time.Millisecond) // pages of 100, and as many to describe
	case s == ecsAPI:
		return w.between(60*time.Millisecond, 200*time.Millisecond)
	}
	return w.between(5*time.Millisecond, 30*time.Millisecond)
}

// refuses keeps to the quotas of ECS.
func (d *day) refuses() (session.Try, bool) {
	w := d.w
	d.tokens = min(runTasksASecond, d.tokens+(w.now-d.filled).Seconds()*runTasksASecond)
	d.filled = w.now
	if d.tokens < 1 {
		d.throttled++
		return session.Try{Kind: session.Declined, Class: session.Retry, Reason: "ThrottlingException"}, true
	}
	d.tokens--
	if w.cluster.starting >= mostStarting {
		return refusal(awserr.Refusal{Class: session.Retry, Definite: true, Reason: "ClientException: the limit of tasks in PROVISIONING is reached"}), true
	}
	return session.Try{}, false
}

// taken sees every session that is taken out of the queue.
func (d *day) taken(s *devin) {
	if s.taken { // it has waited before
		return
	}
	s.taken = true
	wait := (d.w.now - s.created).Seconds()
	d.waits = append(d.waits, wait)
	if !d.Poisoned || s.outpost != d.w.plan.config[d.Outposts-1].ID {
		d.others = append(d.others, wait)
	}
}

// minute notes how things stand.
func (d *day) minute() {
	w := d.w
	m := Minute{Calls: map[string]int{}, Sweep: d.sweep.Seconds()}
	d.longest, d.sweep = max(d.longest, d.sweep), 0
	for _, s := range w.judge.open {
		if s.queued && !s.claimed && !s.finished() && w.time().After(w.store.leases[s.id].NotBefore) {
			m.Waiting++
			m.Oldest = max(m.Oldest, (w.now - s.waiting).Seconds())
		}
		if s.server != nil {
			m.Tasks++
		}
	}
	for _, n := range w.store.held {
		m.Slots += n
	}
	for s, verbs := range w.calls {
		n := 0
		for _, calls := range verbs {
			n += calls
		}
		m.Calls[string(s)] = n - d.before[string(s)]
		d.before[string(s)] = n
	}
	d.minutes = append(d.minutes, m)
}

// recovered is how long after the end of what was missing no session waited for more than five minutes any more.
func (d *day) recovered() time.Duration {
	end := max(d.NoCapacity.to, d.NoFleet.to)
	if end == 0 {
		return 0
	}
	for i := int(end / time.Minute); i < len(d.minutes); i++ {
		if d.minutes[i].Oldest < 300 {
			return time.Duration(i)*time.Minute - end
		}
	}
	return -1
}

func quantiles(list []float64) Waits {
	if len(list) == 0 {
		return Waits{}
	}
	slices.Sort(list)
	at := func(q float64) float64 { return math.Round(list[int(q*float64(len(list)-1))]*10) / 10 }
	return Waits{at(0.5), at(0.95), at(1)}
}

// byService sums calls over verbs. The keys of calls begin with a service.
func byService(calls map[string]int) map[string]int {
	sum := map[string]int{}
	for key, n := range calls {
		for _, s := range services {
			if strings.HasPrefix(key, string(s)+" ") {
				sum[string(s)] += n
			}
		}
	}
	return sum
}
