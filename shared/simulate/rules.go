package simulate

import (
	"fmt"
	"time"
)

// Rule is something that must always hold. All are judged by the world, never by what the product believes.
type Rule string

// The rules.
const (
	ruleSlots     Rule = "slots used equal the leases that have not ended, and never pass the maximum"
	ruleOneTask   Rule = "a session has at most one live task"
	ruleOneWorker Rule = "a session is served once"
	ruleLaunch    Rule = "no RunTask without a claim that is ours, nor after its time"
	ruleEnd       Rule = "when a lease has ended no task of it lives and the claim is not ours"
	ruleTruth     Rule = "the outcome of a lease says what happened"
	rulePickup    Rule = "a claimable session is claimed within five minutes while a slot is free and the services answer"
	ruleBudget    Rule = "a dead worker is replaced within the session's budget"
	ruleOffer     Rule = "an offer is done when its session is taken or cannot be taken"
	ruleExpiry    Rule = "a lease that has ended is deleted in time, and no other ever"
	ruleToken     Rule = "no token stands anywhere in the clear"
	ruleEvidence  Rule = "no worker is stopped on the evidence of one read"
	ruleRelease   Rule = "a claim is released only when no task of the session lives"
	ruleRenewal   Rule = "the claim of a worker on its way does not run out"
	ruleLeftover  Rule = "a session that sleeps or is over is never claimed"
	ruleUnseen    Rule = "nothing runs on unseen"
	ruleAge       Rule = "no task lives beyond the session's maximum age"
	ruleSettles   Rule = "when nothing goes wrong any more, everything settles"
	rulePanic     Rule = "no function panics"
)

// violate notes that a rule was broken. The first one ends the world.
func (w *world) violate(rule Rule, id, text string) {
	w.note(id, "VIOLATION: %s: %s", rule, text)
	w.violations = append(w.violations, Violation{rule, id, w.now, text})
}

// condition is a thing that may be so for a while, and not for long.
type condition struct {
	since  time.Duration
	sweeps int
}

// lasting judges a condition of a session: it breaks the rule when it has lasted so long, and so many sweeps that nothing went wrong in have come to their end
// meanwhile. Forget says that what lasted so far does not count.
func (j *judge) lasting(rule Rule, s *devin, name string, on, forget bool, sweeps int, long time.Duration, text func() string) {
	w := j.w
	key := conditionOf{s, name}
	if !on {
		if len(j.conditions) > 0 {
			delete(j.conditions, key)
		}
		return
	}
	c, known := j.conditions[key]
	if !known || forget {
		j.conditions[key] = condition{w.now, w.cleanSweeps}
		return
	}
	if n := w.cleanSweeps - c.sweeps; n >= sweeps && w.now-c.since >= long {
		w.violate(rule, s.id, fmt.Sprintf("%s, for %s and %d sweeps: %s", name, (w.now-c.since).Round(time.Second), n, text()))
	}
}

type conditionOf struct {
	s    *devin
	name string
}
