package simulate

import (
	"fmt"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// claimLife is how long a claim lasts.
const claimLife = 5 * time.Minute

// devin is one session: its queue entry as the fleet API shows it, and the truth about it.
type devin struct {
	id, outpost string
	arrives     time.Duration
	platform    string
	restricted  bool // a network policy is enabled

	queued   bool
	listed   bool // it stands in the list of its outpost
	watched  bool // the judge looks at it
	kind     string
	claimed  bool
	holder   string
	deadline time.Duration // of the claim; it lapses lazily, unless the session is running
	unbroken int           // rises whenever a claim begins; tokens of one unbroken claim stay good
	granted  time.Duration // when a claim of ours was last made or renewed
	asked    time.Duration // when that call was made
	askedBy  *invocation   // by whom
	waiting  time.Duration // since when it stands in the queue unclaimed
	created  time.Duration // when it was queued

	status string
	shown  string // what reads show: the status of some seconds ago

	left    time.Duration // of its work
	ends    string        // terminated or suspended
	resumes int           // how often it comes back from sleep
	since   time.Duration // when its worker began to serve
	server  *task         // the worker that serves it now
	token   string        // the last connect token
	taken   bool          // it was claimed by us once

	lie                        string        // what reads say falsely: over, stolen
	denials                    int           // how many renewals are told falsely that the claim is somebody else's
	flash, blip, stolen, freed time.Duration // until when it reads wrong; when it was stolen; when a release took our claim
	waking                     bool          // it will come back
	bad                        bool          // some of its claims are answered badly
	badClaims                  int           // how many claims are answered badly
	lastBlip                   time.Duration
	broken                     time.Duration // when the claim last passed to nobody or to somebody else
	saidNo                     time.Duration // when a call for it was last refused for good
	over                       time.Duration // when it was last terminated or put to sleep
	lied                       time.Duration // until when reads and claims of it said what was not so
	badly                      time.Duration // when a claim of it was last answered badly
	byLate                     bool          // that release took effect after its caller gave up
	freedBy                    *invocation   // whose release it was
	gaveUps                    int           // how often in a row it was given up or refused
	given                      time.Duration // when we last gave it back
	banned                     time.Duration // until when it is not to be taken for that
}

// fleet is Devin's side: the queue of every outpost.
type fleet struct {
	w        *world
	sessions []*devin
	arrived  int                 // of them
	queue    map[string][]*devin // by outpost: those that a list may show
	byID     map[string]*devin
	changes  map[string][]*devin      // by outpost, in order
	watchers map[string][]func()      // what wakes those who wait for the next one
	quiet    map[string]time.Duration // by outpost: until when it wants to be left alone
}

func newFleet(w *world) *fleet {
	return &fleet{w: w, byID: map[string]*devin{}, queue: map[string][]*devin{}, changes: map[string][]*devin{}, watchers: map[string][]func(){}, quiet: map[string]time.Duration{}}
}

// open plans the arrival of all sessions and what they will go through.
func (f *fleet) open() {
	w := f.w
	for i := range w.opts.Sessions {
		s := &devin{id: fmt.Sprintf("devin-%d", i+1), outpost: w.plan.config[w.rng.IntN(len(w.plan.config))].ID, status: session.StatusPending, kind: "new",
			left: w.between(time.Minute, 25*time.Minute), ends: session.StatusTerminated, stolen: -time.Hour, freed: -time.Hour, lastBlip: -time.Hour, saidNo: -time.Hour, broken: -time.Hour,
			over: -time.Hour, badly: -time.Hour, lied: -time.Hour, banned: -time.Hour}
		if w.chance(0.08) {
			s.left = w.between(30*time.Minute, 100*time.Minute)
		}
		if w.chance(0.4) {
			s.ends, s.resumes = session.StatusSuspended, w.from(0, 2)
		}
		if w.chance(0.04) {
			s.platform = "macos"
		}
		s.restricted = w.chance(0.04)
		if w.chance(0.1) {
			s.status = session.StatusRunning // it counts as started while it waits
		}
		if w.inject(BadClaim, w.plan.badClaim) {
			s.badClaims, s.bad = w.from(1, 3), true
		}
		s.shown = s.status
		s.arrives = w.between(0, w.plan.arrivals)
		if w.opts.day != nil {
			w.opts.day.draw(s, i)
		}
		f.sessions, f.byID[s.id] = append(f.sessions, s), s
		w.at(s.arrives, func() { f.arrived++; f.enqueue(s) })
		f.fate(s)
	}
}

// enqueue puts a session into the queue, where it waits for a worker.
func (f *fleet) enqueue(s *devin) {
	w := f.w
	s.queued, s.claimed, s.holder, s.waiting, s.created = true, false, "", w.now, w.now
	if !s.listed {
		s.listed = true
		f.queue[s.outpost] = append(f.queue[s.outpost], s)
	}
	w.judge.opens(s)
	f.changed(s)
	w.note(s.id, "queued as %s, %s, %s of work left, will be %s", s.kind, s.status, s.left, s.ends)
	if !w.faultsOff && w.inject(RivalClaims, w.plan.rivals) {
		w.after(w.between(0, 40*time.Second), func() { f.rival(s, false) })
	}
}

// fate plans what happens to the session from outside.
func (f *fleet) fate(s *devin) {
	w := f.w
	at := func(fault Fault, p float64, do func()) {
		if w.chance(p) {
			w.at(s.arrives+w.between(0, 45*time.Minute), func() {
				if w.inject(fault, 1) {
					do()
				}
			})
		}
	}
	at(ClaimStolen, w.plan.steals, func() { f.rival(s, true) })
	at(SessionChanged, w.plan.changes, func() { f.change(s) })
	for range 3 {
		at(StatusFlash, w.plan.flashes, func() {
			if s.status == session.StatusRunning && s.server != nil {
				s.flash = w.now + w.between(time.Second, 12*time.Second)
				w.note(s.id, "reads suspended for a moment")
			}
		})
		at(ForeignTask, w.plan.foreignStops/2, func() { w.cluster.foreign(s) })
		at(EntryLies, w.plan.lies, func() { f.lies(s) })
		at(TaskMissing, w.plan.taskMissing/4, func() {
			if s.server != nil && w.now-s.server.missing > apart {
				s.server.missing = w.now + w.between(time.Second, 45*time.Second)
				w.note(s.id, "its task is missing for a moment")
			}
		})
		at(EntryBlip, w.plan.blips, func() {
			if w.now-s.lastBlip > apart {
				s.blip, s.lastBlip = w.now+w.between(time.Second, 12*time.Second), w.now
				w.note(s.id, "reads 404 for a moment")
			}
		})
	}
}

// apart is how far apart two lies about one session are at least: two in a row would be evidence.
const apart = session.StaleDoubt + time.Minute

// lies has reads or a renewal say what is not so, once in a while.
func (f *fleet) lies(s *devin) {
	w := f.w
	if s.server == nil || !f.ours(s) || w.now-s.lied < apart {
		return
	}
	switch w.from(0, 2) {
	case 0:
		s.lie, s.lied = "over", w.now+w.between(time.Second, 2*time.Second)
	case 1:
		s.lie, s.lied = "stolen", w.now+w.between(time.Second, 12*time.Second)
	case 2:
		s.denials, s.lied = 1, w.now
	}
	w.note(s.id, "reads as %s for a moment, and %d renewals are denied", s.lie, s.denials)
}

// live says whether the claim holds. It lapses when its deadline has passed and the session is not running; that is found out when somebody looks.
func (f *fleet) live(s *devin) bool {
	if !s.claimed {
		return false
	}
	if f.w.now < s.deadline || s.status == session.StatusRunning {
		return true
	}
	f.lapse(s)
	return false
}

// lapse gives an expired claim back to the queue.
func (f *fleet) lapse(s *devin) {
	w := f.w
	w.note(s.id, "the claim of %s ran out", s.holder)
	if s.holder == acceptor {
		w.judge.lapsed(s)
	}
	f.free(s, s.deadline)
}

// free takes the claim away from whoever holds it.
func (f *fleet) free(s *devin, when time.Duration) {
	s.claimed, s.holder, s.broken = false, "", when
	s.waiting = f.w.now
	f.changed(s)
	f.prune(s)
}

// ours says whether the claim is this deployment's.
func (f *fleet) ours(s *devin) bool { return f.live(s) && s.holder == acceptor }

// set changes the session's status; reads follow some seconds later.
func (f *fleet) set(s *devin, status string) {
	w := f.w
	if s.status == status {
		return
	}
	if w.now >= s.deadline && s.claimed && s.status == session.StatusRunning {
		// The claim held only because the session was running; it does not lapse in the same moment.
		s.deadline = w.now + 30*time.Second
	}
	s.status = status
	if s.finished() {
		s.over = w.now
	}
	w.note(s.id, "is %s", status)
	w.after(w.between(0, 12*time.Second), func() { s.shown = s.status; f.changed(s) })
	f.prune(s)
}

// finished says whether the session wants no worker.
func (s *devin) finished() bool {
	return s.status == session.StatusTerminated || s.status == session.StatusSuspended
}

// prune takes a leftover out of the queue after a while: a session that wants no worker and that nobody holds.
func (f *fleet) prune(s *devin) {
	w := f.w
	if !s.finished() {
		return
	}
	w.after(w.between(time.Minute, 8*time.Minute), func() {
		if s.queued && s.finished() && !f.live(s) {
			s.queued = false
			w.note(s.id, "leaves the queue")
		}
	})
}

// change is a person who ends the session or puts it to sleep.
func (f *fleet) change(s *devin) {
	if s.finished() || s.arrives > f.w.now {
		return
	}
	f.settle(s)
	if f.w.chance(0.5) {
		f.finish(s, session.StatusTerminated)
	} else {
		f.finish(s, session.StatusSuspended)
	}
}

// settle counts the work done so far.
func (f *fleet) settle(s *devin) {
	if s.server != nil {
		s.left = max(0, s.left-(f.w.now-s.since))
		s.since = f.w.now
	}
}

// finish ends the session or puts it to sleep, and plans its waking.
func (f *fleet) finish(s *devin, status string) {
	w := f.w
	f.set(s, status)
	if s.server != nil {
		w.cluster.sessionOver(s.server, status)
	}
	if status == session.StatusSuspended && s.resumes > 0 {
		s.resumes--
		s.waking = true
		w.after(w.between(3*time.Minute, 40*time.Minute), func() { f.wake(s) })
	}
}

// wake is somebody who writes to a sleeping session: it wants a worker again.
func (f *fleet) wake(s *devin) {
	w := f.w
	if s.status != session.StatusSuspended {
		s.waking = false
		return
	}
	if s.server != nil { // its worker has not even gone yet
		w.after(w.between(time.Minute, 2*time.Minute), func() { f.wake(s) })
		return
	}
	s.waking = false
	s.left = w.between(time.Minute, 15*time.Minute)
	if w.chance(0.3) {
		s.ends = session.StatusTerminated
	}
	s.status, s.shown, s.kind = session.StatusPending, session.StatusPending, "resume"
	w.note(s.id, "wakes")
	if !s.queued || !f.live(s) {
		f.enqueue(s)
	}
}

// rival is another acceptor that takes the session: when it waits, or by force. It serves it, or gives it back.
func (f *fleet) rival(s *devin, force bool) {
	w := f.w
	if !s.queued || s.finished() || f.live(s) && (!force || s.holder != acceptor) {
		return
	}
	if s.holder == acceptor {
		s.stolen = w.now
	}
	w.note(s.id, "is claimed by a rival")
	s.claimed, s.holder, s.deadline, s.broken = true, "rival", w.now+claimLife, w.now
	s.unbroken++
	if w.chance(0.5) {
		w.after(w.between(10*time.Second, claimLife), func() {
			if s.claimed && s.holder == "rival" {
				w.note(s.id, "is given back by the rival")
				f.free(s, w.now)
			}
		})
		return
	}
	w.after(w.between(time.Second, time.Minute), func() {
		if s.claimed && s.holder == "rival" && !s.finished() {
			f.set(s, session.StatusRunning)
		}
	})
	w.after(w.between(2*time.Minute, 15*time.Minute), func() {
		if s.claimed && s.holder == "rival" {
			f.finish(s, s.ends)
			f.free(s, w.now)
		}
	})
}
