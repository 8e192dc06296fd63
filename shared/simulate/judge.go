package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// judge watches the world and says when a rule is broken.
type judge struct {
	w          *world
	settled    bool
	conditions map[conditionOf]condition
	waits      map[*devin]waiting
	until      map[string]time.Time     // attempt id → its last LaunchUntil
	lives      map[string]*life         // by session
	renamed    map[string]time.Duration // by session: when its lease last named another attempt, or none
	ran        map[string]time.Duration // by outpost and capacity choice: when a task last came to run
	deployed   []deployment
	open       []*devin // sessions to which something may still happen
	live       []*task  // for look
	sweeps     []span   // those in which nothing went wrong
}

// life is what the judge counts of one reservation.
type life struct {
	epoch       string
	launched    time.Duration // when its first launch was begun; 0 = never
	rounds      int           // times that a launch was begun, in whatever capacity choices, since it was last proven
	interrupted int           // tasks of these that were taken away by no fault of theirs
	failed      int           // tasks of these that failed
	decided     time.Duration // when its outcome was written
}

// deployment is a configuration and since when it is the one.
type deployment struct {
	at     time.Duration
	config []config.Outpost
	drains string
}

func newJudge(w *world) *judge {
	return &judge{w: w, conditions: map[conditionOf]condition{}, waits: map[*devin]waiting{}, until: map[string]time.Time{}, lives: map[string]*life{},
		renamed: map[string]time.Duration{}, ran: map[string]time.Duration{}, deployed: []deployment{{-time.Hour, w.plan.config, ""}}}
}

// lease is the session's lease; nil when it has none that is active.
func (j *judge) lease(id string) *session.Lease {
	if l, ok := j.w.store.leases[id]; ok && l.Active() {
		return &l
	}
	return nil
}

// settings are the outpost's now; nil = it is not configured.
func (w *world) settings(id string) *config.Outpost { return settingsIn(w.config, id) }

func settingsIn(list []config.Outpost, id string) *config.Outpost {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// unsteady says whether the configuration of late is not that of now.
func (j *judge) unsteady() bool { return j.w.now-j.deployed[len(j.deployed)-1].at < 15*time.Minute }

func (j *judge) deploys(drains string) {
	j.deployed = append(j.deployed, deployment{j.w.now, j.w.config, drains})
}

// since answers what deployments said of an outpost from a moment on: that of the moment, and the later ones. Nil stands for one that had left the outpost out.
func (j *judge) since(id string, from time.Duration) (list []*config.Outpost, drained bool) {
	for i, d := range j.deployed {
		if i+1 < len(j.deployed) && j.deployed[i+1].at <= from {
			continue
		}
		o := settingsIn(d.config, id)
		list = append(list, o)
		drained = drained || o == nil || o.MaxSessions == 0 || d.drains == id
	}
	return list, drained
}

// clear demands that no token stands in any of these texts.
func (j *judge) clear(id, where string, texts ...string) {
	for _, text := range texts {
		if strings.Contains(text, "connect-token") {
			j.w.violate(ruleToken, id, where+" holds a connect token in the clear")
		}
	}
}

// wrote sees every write of a lease.
func (j *judge) wrote(old, to session.Lease) {
	w := j.w
	if used := w.store.counter(to.OutpostID).SlotsUsed; w.store.held[to.OutpostID] != used {
		w.violate(ruleSlots, to.SessionID, fmt.Sprintf("outpost %s counts %d slots used and has %d leases", to.OutpostID, used, w.store.held[to.OutpostID]))
	}
	if to.Active() != to.ExpiresAt.IsZero() {
		w.violate(ruleExpiry, to.SessionID, fmt.Sprintf("the lease is %s and is deleted at %s", to.State, to.ExpiresAt))
	}
	if old.AttemptID() != to.AttemptID() || !to.Active() {
		j.renamed[to.SessionID] = w.now
	}
	l := j.life(to)
	if to.Outcome != old.Outcome && to.Outcome != session.Undecided {
		l.decided = w.now
		j.decided(to)
	}
	if to.State == session.Launching && !to.LaunchUntil.IsZero() {
		j.until[to.AttemptID()] = to.LaunchUntil
		if to.Attempt != old.Attempt || !to.LaunchUntil.Equal(old.LaunchUntil) && !old.NotBefore.IsZero() { // else it goes on to the next choice
			l.rounds++
		}
		if l.launched == 0 {
			l.launched = min(w.now, to.LaunchUntil.Add(-session.LaunchWindow).Sub(epoch)) // the write may have landed late
		}
	}
	if to.State == session.Stopping && old.State == session.Running {
		j.proven(to, l)
	}
}

// proven forgets what failed before a worker that served long enough: surely so when it served well beyond the ten minutes, since its beginning is seen late; and
// perhaps so when ten minutes have passed until its end was seen.
func (j *judge) proven(to session.Lease, l *life) {
	t := j.named(to)
	if t == nil {
		return
	}
	if j.w.now-t.created >= session.ProvenAfter { // the session may have counted as running when it was launched
		l.failed = 0
		if t.exit != nil && t.exit.Verdict == session.Failed {
			l.failed = 1
		}
	}
	if t.began > 0 && t.left-t.began >= session.ProvenAfter+5*time.Minute {
		l.rounds, l.interrupted = min(l.rounds, 1), 0
	}
}

// named is the task that a lease names; nil = none that ECS still knows.
func (j *judge) named(l session.Lease) *task {
	for _, t := range j.w.cluster.of(l.SessionID) {
		if t.launch.AttemptID == l.AttemptID() {
			return t
		}
	}
	return nil
}

// life is the count of a lease's reservation.
func (j *judge) life(of session.Lease) *life {
	l := j.lives[of.SessionID]
	if l == nil || l.epoch != of.Epoch {
		l = &life{epoch: of.Epoch}
		j.lives[of.SessionID] = l
	}
	return l
}

// reserved sees every reservation.
func (j *judge) reserved(to session.Lease, limit int) {
	w := j.w
	from := w.now - 10*time.Minute // of a write that lands late
	if w.current != nil && !w.late {
		from = w.current.inv.began // who reserves read the configuration then
	}
	most := 0
	list, _ := j.since(to.OutpostID, from)
	for _, o := range list {
		if o != nil {
			most = max(most, o.MaxSessions)
		}
	}
	if used := w.store.counter(to.OutpostID).SlotsUsed; used > min(limit, most) {
		w.violate(ruleSlots, to.SessionID, fmt.Sprintf("outpost %s uses %d of %d slots", to.OutpostID, used, min(limit, most)))
	}
	if d := j.deployed[len(j.deployed)-1]; d.drains == to.OutpostID && d.at < from {
		w.violate(ruleSlots, to.SessionID, fmt.Sprintf("outpost %s drains since %s", to.OutpostID, clockText(d.at)))
	}
}

// corrected sees every correction of a slot counter.
func (j *judge) corrected(outpost string, from, to int) {
	if held := j.w.store.held[outpost]; to != held {
		j.w.violate(ruleSlots, "", fmt.Sprintf("the counter of outpost %s was %d and is set to %d, and there are %d leases", outpost, from, to, held))
	}
}

// claims sees every claim that is asked for.
func (j *judge) claims(s *devin) {
	w := j.w
	if s == nil || !s.finished() || w.fleet.live(s) || w.now-max(s.over, s.broken) < time.Minute {
		return
	}
	had := w.store.leases[s.id]
	if had.Active() && had.State != session.Reserved || had.State == session.Ended && w.time().Sub(had.EndedAt) < time.Minute {
		return // it is or was ours: the claim is to find out
	}
	w.violate(ruleLeftover, s.id, fmt.Sprintf("it is %s since %s", s.status, clockText(s.over)))
}

// launches sees every RunTask that is sent.
func (j *judge) launches(l tasks.Launch) {
	w := j.w
	s := w.fleet.byID[l.SessionID]
	if until, known := j.until[l.AttemptID]; !known || w.time().After(until) {
		w.violate(ruleLaunch, s.id, fmt.Sprintf("RunTask is sent at %s, and was to be sent until %s", w.time().Format(time.TimeOnly), until.Format(time.TimeOnly)))
	}
	taken := s.stolen > s.granted || s.freed > s.granted && (s.byLate || w.current == nil || s.freedBy != w.current.inv)
	if !w.fleet.ours(s) && !taken {
		w.violate(ruleLaunch, s.id, "RunTask is sent, and the claim is not ours")
	}
}

// created sees every task that comes to be.
func (j *judge) created(t *task) {
	w := j.w
	j.opens(t.s)
	for _, o := range w.cluster.of(t.s.id) {
		if o != t && o.live() && !o.foreign {
			w.violate(ruleOneTask, t.s.id, fmt.Sprintf("task %s comes to be while %s is %s", t.arn[len(t.arn)-8:], o.arn[len(o.arn)-8:], o.status))
		}
	}
	l := j.lease(t.s.id)
	if l == nil || l.AttemptID() != t.launch.AttemptID {
		w.violate(ruleUnseen, t.s.id, "a task comes to be that no lease names")
		return
	}
	if n := j.life(*l).failed; n >= j.budget(t.s.outpost, slices.Max) {
		w.violate(ruleBudget, t.s.id, fmt.Sprintf("a task comes to be after %d failed", n))
	}
}

// budget is how many failures a session has, by the strictest or the most generous of all configurations.
func (j *judge) budget(outpost string, pick func([]int) int) int {
	return pick(ofEach(j, outpost, func(c config.Outpost) int { return c.MaxFailures }))
}

// maxAge is how old a session may become, likewise.
func (j *judge) maxAge(outpost string, pick func([]time.Duration) time.Duration) time.Duration {
	return pick(ofEach(j, outpost, func(c config.Outpost) time.Duration { return c.MaxAge }))
}

// ofEach is what the configurations say of an outpost.
func ofEach[T any](j *judge, outpost string, of func(config.Outpost) T) (all []T) {
	for _, c := range j.w.plan.everyConfig() {
		if c.ID == outpost {
			all = append(all, of(c))
		}
	}
	return all
}

// stops sees every StopTask that is sent.
func (j *judge) stops(t *task, why string) {
	w, s := j.w, t.s
	l := j.lease(s.id)
	switch {
	case t.desired == stopped || t.status == stopped:
	case l == nil || l.AttemptID() != t.launch.AttemptID:
		// Two sweeps a minute apart must have seen it, but whoever launched it stops it at once when it finds that somebody else went on.
		since := max(j.renamed[s.id], t.created)
		if t.foreign {
			since = t.created
		}
		if unnamed := w.now - since; unnamed < time.Minute && t.by != w.current.inv {
			w.violate(ruleEvidence, s.id, fmt.Sprintf("a task that no lease names for %s is told to stop: %s", unnamed, why))
		}
	case j.old(*l) || s.finished() || w.now-max(s.broken, s.saidNo) < 10*time.Minute || !w.fleet.ours(s):
	case t.serving && s.server == t && s.status == session.StatusRunning && w.now-s.since > 2*time.Minute:
		w.violate(ruleEvidence, s.id, "a healthy worker is told to stop: "+why)
	case !t.serving && t.status == running && w.now-t.created < session.ConnectLimit && l.Outcome != session.Drained: // whose launch may land after the drain
		w.violate(ruleEvidence, s.id, "a worker that has still time to connect is told to stop: "+why)
	}
}

// old says whether a lease's session has reached its maximum age.
func (j *judge) old(l session.Lease) bool {
	began := j.life(l).launched
	return began > 0 && j.w.now-began >= j.maxAge(l.OutpostID, slices.Min)
}

// stopped sees every task that has stopped.
func (j *judge) stopped(t *task) {
	l := j.lease(t.s.id)
	if l == nil || l.AttemptID() != t.launch.AttemptID {
		return
	}
	switch t.exit.Verdict {
	case session.Interrupted:
		j.life(*l).interrupted++
	case session.Failed:
		j.life(*l).failed++
	}
}

// released sees every release that takes a claim of ours away.
func (j *judge) released(s *devin) {
	w := j.w
	if w.late || w.now-w.begun > 5*time.Second { // its caller decided long ago
		return
	}
	if l := j.lease(s.id); l != nil && w.current != nil && l.ReservedAt.After(epoch.Add(w.current.inv.began)) { // it looks at a life that is over
		return
	}
	for _, t := range w.cluster.of(s.id) {
		if t.live() && !t.foreign {
			w.violate(ruleRelease, s.id, fmt.Sprintf("released while task %s is %s", t.arn[len(t.arn)-8:], t.status))
		}
	}
}

// lapsed sees every claim of ours that runs out.
func (j *judge) lapsed(s *devin) {
	w := j.w
	l := j.lease(s.id)
	if l == nil || l.State == session.Reserved || l.Outcome != session.Undecided || j.unsteady() || w.settings(s.outpost) == nil || s.finished() || w.now-s.lastBlip < 5*time.Minute {
		return
	}
	alive := false
	for _, t := range w.cluster.of(s.id) {
		alive = alive || t.live() && t.created < s.granted+claimLife/2
	}
	looked := 0
	for i := len(j.sweeps) - 1; i >= 0 && j.sweeps[i].from >= s.granted+claimLife/2; i-- {
		if j.sweeps[i].to < s.deadline {
			looked++
		}
	}
	if alive && looked >= 2 {
		w.violate(ruleRenewal, s.id, fmt.Sprintf("the claim of %s ran out, though %d sweeps could have renewed it", clockText(s.granted), looked))
	}
}

// everyConfig are the outposts of all configurations.
func (p plan) everyConfig() []config.Outpost {
	list := p.config
	for _, c := range p.later {
		list = append(list[:len(list):len(list)], c.config...)
	}
	return list
}
