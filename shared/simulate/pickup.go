package simulate

import (
	"fmt"
	"slices"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"github.com/devin-outposts/devin-outposts-aws/shared/config"
)

// answered sees which messages of a batch claim acknowledged, the others being failures: those whose sessions are taken, or could not be taken while it worked.
func (j *judge) answered(batch []message, out lambda.SQSEventResponse, began time.Duration) {
	w := j.w
	for _, m := range batch {
		if slices.ContainsFunc(out.BatchItemFailures, func(f lambda.SQSBatchItemFailure) bool { return f.ItemIdentifier == m.id }) {
			continue
		}
		s := w.fleet.byID[m.session]
		takeable := j.takeable(s) && s.shown == s.status
		before := max(s.waiting, s.given, s.banned, s.lastBlip+15*time.Second, w.store.full[s.outpost], w.fleet.quiet[s.outpost]) < began // and was so all the while
		if !takeable || !before || j.unsteady() {
			continue
		}
		if _, held := j.held(s.outpost); !held {
			w.violate(ruleOffer, s.id, "it can be taken, and its message is acknowledged")
		}
	}
}

// waiting is for how long a session has waited beside a free slot, without the times in which something excuses it.
type waiting struct{ last, sum time.Duration }

// pickup judges how long a session that may be taken waits beside a free slot.
func (j *judge) pickup(s *devin) {
	w := j.w
	if !j.takeable(s) {
		delete(j.waits, s)
		return
	}
	so, known := j.waits[s]
	if known && !j.excused(s) {
		so.sum += w.now - so.last
	}
	so.last = w.now
	j.waits[s] = so
	if so.sum >= w.plan.pickup() {
		w.violate(rulePickup, s.id, fmt.Sprintf("it waits beside a free slot for %s without an excuse: %d of %d slots used", so.sum, w.store.held[s.outpost], w.settings(s.outpost).MaxSessions))
	}
}

// takeable says whether a session waits that may be taken, beside a free slot.
func (j *judge) takeable(s *devin) bool {
	w := j.w
	if !s.queued || s.finished() || !j.wanted(s) || w.now < s.banned || j.lease(s.id) != nil || w.fleet.live(s) {
		return false
	}
	c := w.store.counter(s.outpost)
	return c.SlotsUsed < w.settings(s.outpost).MaxSessions && !c.Draining
}

// excused says whether something happens, or happened within the last minute, that may keep the session waiting.
func (j *judge) excused(s *devin) bool {
	w := j.w
	fault := max(w.faultAt[s.id], w.faultAt[s.outpost], w.faultAt[""])
	held, _ := j.held(s.outpost)
	return !w.calm() || w.within(w.plan.hangs, s.outpost) || w.now-fault < time.Minute || j.quiet(s.outpost) || held || j.behind(s)
}

// behind says whether others are to be tried before the session while no capacity choice serves anybody: each takes a free slot for a moment, in turn.
func (j *judge) behind(s *devin) bool {
	w, o := j.w, j.w.settings(s.outpost)
	if slices.ContainsFunc(o.Capacity, func(c config.Capacity) bool {
		return !w.lately(w.plan.capacity, c.Name, time.Minute) && !j.shut(s.outpost, c.Name)
	}) {
		return false
	}
	free := o.MaxSessions - w.store.counter(s.outpost).SlotsUsed
	for other := range j.waits {
		if other.outpost == s.outpost && max(other.created, other.given) < max(s.created, s.given) {
			free--
		}
	}
	return free <= 0
}

// pickup is five minutes, and the time between two looks; twice that when more than one function never runs.
func (p plan) pickup() time.Duration {
	if len(p.absent) > 1 {
		return 10*time.Minute + 30*time.Second
	}
	return 5*time.Minute + 30*time.Second
}

// quiet says whether the fleet API has asked to be left alone for the outpost.
func (j *judge) quiet(outpost string) bool { return j.w.now < j.w.fleet.quiet[outpost] }

// held says whether every capacity choice of the outpost, or some choice, may be shut for a bad image.
func (j *judge) held(outpost string) (all, some bool) {
	all = true
	for _, c := range j.w.settings(outpost).Capacity {
		shut := j.shut(outpost, c.Name)
		all, some = all && shut, some || shut
	}
	return all, some
}

// shut says whether a capacity choice has a bad image, or had one and may not have been proven since: a slow start of the last task, the breaker, and a slow probe take
// their time, and without capacity, or while the outpost drains, nothing is proven.
func (j *judge) shut(outpost, choice string) bool {
	const proving = 90 * time.Minute
	w := j.w
	return slices.ContainsFunc(w.plan.images, func(o window) bool {
		if o.what != choice && o.what != outpost || w.now < o.from {
			return false
		}
		until := o.to + proving
		for _, gone := range w.plan.capacity {
			if gone.what == choice && gone.from < until {
				until = max(until, gone.to+proving)
			}
		}
		return w.now < until || j.ran[outpost+"/"+choice] < o.to
	})
}
