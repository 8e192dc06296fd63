package simulate

import (
	"fmt"
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
	until      map[string]time.Time // attempt id → its last LaunchUntil
	lives      map[string]*life     // by session
	redeployed time.Duration        // the last redeploy
	open       []*devin             // sessions to which something may still happen
	live       []*task              // for look
	sweeps     []span               // those in which nothing went wrong
}

// life is what the judge counts of one reservation.
type life struct {
	epoch       string
	rounds      int           // times that a launch was begun
	interrupted int           // tasks that were taken away by no fault of theirs
	decided     time.Duration // when its outcome was written
}

func newJudge(w *world) *judge {
	return &judge{w: w, conditions: map[conditionOf]condition{}, until: map[string]time.Time{}, lives: map[string]*life{}, redeployed: -time.Hour}
}

// lease is the session's lease; nil when it has none that is active.
func (j *judge) lease(id string) *session.Lease {
	if l, ok := j.w.store.leases[id]; ok && l.Active() {
		return &l
	}
	return nil
}

// settings are the outpost's now; nil = it is not configured.
func (w *world) settings(id string) *config.Outpost {
	for i := range w.config {
		if w.config[i].ID == id {
			return &w.config[i]
		}
	}
	return nil
}

// unsteady says whether the configuration of late is not that of now.
func (j *judge) unsteady() bool { return j.w.now-j.redeployed < 15*time.Minute }

func (j *judge) deployed() { j.redeployed = j.w.now }

// wrote sees every write of a lease.
func (j *judge) wrote(old, to session.Lease) {
	w := j.w
	if w.store.held[to.OutpostID] != w.store.used[to.OutpostID] {
		w.violate(ruleSlots, to.SessionID, fmt.Sprintf("outpost %s counts %d slots used and has %d leases", to.OutpostID, w.store.used[to.OutpostID], w.store.held[to.OutpostID]))
	}
	if to.Outcome != old.Outcome && to.Outcome != session.Undecided {
		j.life(to).decided = w.now
		j.decided(to)
	}
	if to.State == session.Launching && !to.LaunchUntil.IsZero() {
		j.until[to.AttemptID()] = to.LaunchUntil
		if l := j.life(to); !to.LaunchUntil.Equal(old.LaunchUntil) {
			l.rounds++
		}
	}
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
	most := 0 // the largest maximum of all times, since who reserves may have read an older one
	for _, c := range w.plan.everyConfig() {
		if c.ID == to.OutpostID {
			most = max(most, c.MaxSessions)
		}
	}
	if used := w.store.used[to.OutpostID]; used > min(limit, most) {
		w.violate(ruleSlots, to.SessionID, fmt.Sprintf("outpost %s uses %d of %d slots", to.OutpostID, used, min(limit, most)))
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
	taken := s.stolen > s.granted || s.freed > s.granted
	if !w.fleet.ours(s) && !taken {
		w.violate(ruleLaunch, s.id, "RunTask is sent, and the claim is not ours")
	}
}

// created sees every task that comes to be.
func (j *judge) created(t *task) {
	w := j.w
	j.opens(t.s)
	for _, o := range w.cluster.of(t.s.id) {
		if o != t && o.live() {
			w.violate(ruleOneTask, t.s.id, fmt.Sprintf("task %s comes to be while %s is %s", t.arn[len(t.arn)-8:], o.arn[len(o.arn)-8:], o.status))
		}
	}
	if l := j.lease(t.s.id); l == nil || l.AttemptID() != t.launch.AttemptID {
		w.violate(ruleUnseen, t.s.id, "a task comes to be that no lease names")
	}
}

// stops sees every StopTask that is sent.
func (j *judge) stops(t *task, why string) {
	w, s := j.w, t.s
	l := j.lease(s.id)
	healthy := t.serving && s.server == t && s.status == session.StatusRunning && w.now-s.since > 2*time.Minute && w.fleet.ours(s) && w.now-s.broken > 10*time.Minute
	if healthy && l != nil && l.AttemptID() == t.launch.AttemptID && w.time().Before(l.Deadline) {
		w.violate(ruleEvidence, s.id, "a healthy worker is told to stop: "+why)
	}
}

// stopped sees every task that has stopped.
func (j *judge) stopped(t *task) {
	if l := j.lease(t.s.id); l != nil && l.AttemptID() == t.launch.AttemptID && t.exit.Verdict == session.Interrupted {
		j.life(*l).interrupted++
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
		if t.live() {
			w.violate(ruleRelease, s.id, fmt.Sprintf("released while task %s is %s", t.arn[len(t.arn)-8:], t.status))
		}
	}
}

// lapsed sees every claim of ours that runs out.
func (j *judge) lapsed(s *devin) {
	w := j.w
	l := j.lease(s.id)
	if l == nil || l.State == session.Reserved || l.State == session.Stopping || j.unsteady() || w.settings(s.outpost) == nil || s.finished() || w.now-s.lastBlip < 5*time.Minute {
		return
	}
	alive := false
	for _, t := range w.cluster.of(s.id) {
		alive = alive || t.live() && t.desired == running && t.created < s.granted+claimLife/2
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

// ended sees every lease that ends.
func (j *judge) ended(to session.Lease) {
	w := j.w
	s := w.fleet.byID[to.SessionID]
	w.ends[string(to.Outcome)]++
	if to.Outcome == session.Undecided {
		w.violate(ruleTruth, s.id, "the lease ends without an outcome")
	}
	for _, t := range w.cluster.of(s.id) {
		if t.live() {
			w.violate(ruleEnd, s.id, fmt.Sprintf("the lease ends as %s while task %s is %s", to.Outcome, t.arn[len(t.arn)-8:], t.status))
		}
	}
	blind := w.settings(s.outpost) == nil || j.unsteady() || w.now-s.lastBlip < 5*time.Minute
	// Excused: the claim's call took effect long after it was made, or whoever made it had not heard of our release. Such a claim is found later.
	slow := s.granted-s.asked > 2*time.Second || s.freed > j.life(to).decided || w.now-s.saidNo < 5*time.Minute
	if w.fleet.ours(s) && !blind && !slow {
		w.violate(ruleEnd, s.id, fmt.Sprintf("the lease ends as %s and the claim is still ours", to.Outcome))
	}
}

// decided sees every outcome at the moment when it is written.
func (j *judge) decided(to session.Lease) {
	w := j.w
	s := w.fleet.byID[to.SessionID]
	blind := w.settings(s.outpost) == nil || j.unsteady() || w.now-s.lastBlip < 5*time.Minute
	if lie := j.lie(s, to, blind); lie != "" {
		w.violate(ruleTruth, s.id, "the lease ends as "+string(to.Outcome)+lie)
	}
}

// lie says what is untrue about an outcome; empty = nothing.
func (j *judge) lie(s *devin, to session.Lease, blind bool) string {
	w := j.w
	recently := func(t time.Duration) bool { return w.now-t < 10*time.Minute }
	switch to.Outcome {
	case session.Completed:
		if s.status != session.StatusTerminated {
			return ", and the session is " + s.status
		}
	case session.Suspended:
		flashed := w.now < s.flash+20*time.Second && s.server == nil // one read is enough when no worker is left: the session is taken anew at once
		inAttempt := !to.LaunchUntil.IsZero() && epoch.Add(s.over).After(to.LaunchUntil.Add(-session.LaunchWindow)) // and it may wake in the moment of the write
		slept := recently(s.over) || inAttempt
		if !s.finished() && !slept && !blind && !flashed {
			return ", and the session is " + s.status
		}
	case session.Lost:
		if w.fleet.ours(s) && s.granted-s.asked < 2*time.Second && !blind && !recently(s.broken) {
			return ", and the claim is ours"
		}
	case session.Refused:
		if !s.restricted && !s.bad && !recently(s.saidNo) {
			return ", and nothing is wrong with the session"
		}
	case session.Drained:
		if o := w.settings(s.outpost); o != nil && o.MaxSessions > 0 && len(w.plan.later) == 0 {
			return ", and the outpost is not draining"
		}
	case session.GaveUp:
		budget := 100
		for _, c := range w.plan.everyConfig() {
			if c.ID == s.outpost {
				budget = min(budget, c.MaxFailures)
			}
		}
		l := j.life(to)
		if spent := l.rounds - l.interrupted; spent < budget && w.time().Before(to.Deadline) {
			return fmt.Sprintf(" after %d of %d failures: %s", spent, budget, to.Reason)
		}
	}
	return ""
}

// everyConfig are the outposts of all configurations.
func (p plan) everyConfig() []config.Outpost {
	list := p.config
	for _, c := range p.later {
		list = append(list[:len(list):len(list)], c.config...)
	}
	return list
}
