package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// ended sees every lease that ends.
func (j *judge) ended(to session.Lease) {
	w := j.w
	s := w.fleet.byID[to.SessionID]
	w.ends[string(to.Outcome)]++
	s.given = w.now
	switch to.Outcome {
	case session.GaveUp, session.Refused: // not again for 1, 5, then 30 minutes
		s.banned = w.now + []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}[min(s.gaveUps, 2)]
		s.gaveUps++
	case session.Completed, session.Suspended:
		s.gaveUps = 0
	}
	if to.Outcome == session.Undecided {
		w.violate(ruleTruth, s.id, "the lease ends without an outcome")
	}
	for _, t := range w.cluster.of(s.id) {
		if t.live() && !t.foreign {
			w.violate(ruleEnd, s.id, fmt.Sprintf("the lease ends as %s while task %s is %s", to.Outcome, t.arn[len(t.arn)-8:], t.status))
		}
	}
	// Excused: the claim's call took effect long after it was made, or whoever made it had not heard of our release. Such a claim is found later.
	slow := s.granted-s.asked > 2*time.Second || j.unheard(s) || s.freed > j.life(to).decided || w.now-max(s.saidNo, s.lied) < 5*time.Minute
	if w.fleet.ours(s) && !j.blind(s) && !slow {
		w.violate(ruleEnd, s.id, fmt.Sprintf("the lease ends as %s and the claim is still ours", to.Outcome))
	}
}

// unheard says whether somebody else's claim of the session was granted just now, who gives it back when the lease has ended meanwhile.
func (j *judge) unheard(s *devin) bool {
	return j.w.now-s.granted < 2*time.Second && j.w.current != nil && s.askedBy != j.w.current.inv
}

// blind says whether the session's entry cannot be read, or could not be lately, or by other settings.
func (j *judge) blind(s *devin) bool {
	return j.w.settings(s.outpost) == nil || j.unsteady() || j.w.now-s.lastBlip < 5*time.Minute
}

// decided sees every outcome at the moment when it is written.
func (j *judge) decided(to session.Lease) {
	w := j.w
	s := w.fleet.byID[to.SessionID]
	if lie := j.lie(s, to, j.blind(s)); lie != "" {
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
		flashed := w.now < s.flash+20*time.Second && s.server == nil                                                // one read is enough when no worker is left: the session is taken anew at once
		inAttempt := !to.LaunchUntil.IsZero() && epoch.Add(s.over).After(to.LaunchUntil.Add(-session.LaunchWindow)) // and it may wake in the moment of the write
		slept := recently(s.over) || inAttempt
		toldOver := s.status == session.StatusTerminated && s.queued && w.now-max(s.over, s.lastBlip) > time.Minute && !w.current.inv.faulted // else it may have been read before
		if toldOver || !s.finished() && !slept && !blind && !flashed {
			return ", and the session is " + s.status
		}
	case session.Lost:
		if w.fleet.ours(s) && s.granted-s.asked < 2*time.Second && !j.unheard(s) && !blind && !recently(max(s.broken, s.lied)) {
			return ", and the claim is ours"
		}
	case session.Refused:
		if !s.restricted && !recently(max(s.badly, s.saidNo)) {
			return ", and nothing is wrong with the session"
		}
	case session.Drained:
		if _, drained := j.since(s.outpost, w.now-15*time.Minute); !drained {
			return ", and the outpost is not draining"
		}
	case session.GaveUp:
		l, budget := j.life(to), j.budget(s.outpost, slices.Min)
		spent := l.rounds
		if !w.lately(w.plan.outages, string(ecsAPI), 10*time.Minute) { // else nobody could see why a task had gone
			spent -= l.interrupted
		}
		if spent < budget && !j.old(to) && (l.rounds > 0 || w.time().Sub(to.ReservedAt) < session.ClaimLimit) {
			return fmt.Sprintf(" after %d of %d failures: %s", spent, budget, to.Reason)
		}
	}
	return ""
}
