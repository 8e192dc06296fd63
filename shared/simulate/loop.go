package simulate

import (
	"math/rand/v2"
	"time"
)

// epoch is when every simulated world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// event is something that happens at a moment of virtual time; of two at the same moment the one that was planned first happens first.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// loop is virtual time: a heap of what is still to happen, and the chance that decides everything.
type loop struct {
	rng   *rand.Rand
	now   time.Duration // since epoch
	seq   uint64
	queue []event
}

func (l *loop) time() time.Time { return epoch.Add(l.now) }

// at plans something for a moment; one that has passed means now.
func (l *loop) at(when time.Duration, do func()) {
	l.seq++
	l.push(event{max(when, l.now), l.seq, do})
}

func (l *loop) after(d time.Duration, do func()) { l.at(l.now+d, do) }

// step lets the next thing happen; false = there is none at or before the given moment.
func (l *loop) step(until time.Duration) bool {
	if len(l.queue) == 0 || l.queue[0].at > until {
		return false
	}
	e := l.pop()
	l.now = e.at
	e.do()
	return true
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (l *loop) push(e event) {
	q := append(l.queue, e)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
	l.queue = q
}

func (l *loop) pop() event {
	q := l.queue
	top, last := q[0], q[len(q)-1]
	q[len(q)-1] = event{}
	q = q[:len(q)-1]
	l.queue = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(last) {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = last
	return top
}

// chance says yes with the given probability.
func (l *loop) chance(p float64) bool { return p > 0 && l.rng.Float64() < p }

// between is a whole number of milliseconds from a up to b.
func (l *loop) between(a, b time.Duration) time.Duration {
	if b <= a {
		return a
	}
	return a + time.Duration(l.rng.Int64N(int64((b-a)/time.Millisecond)+1))*time.Millisecond
}

// from is a whole number from a to b.
func (l *loop) from(a, b int) int { return a + l.rng.IntN(b-a+1) }
