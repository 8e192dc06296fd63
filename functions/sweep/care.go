package sweep

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// How long a lease may stay in a passing state before somebody should look.
const (
	stuckReserving = 15 * time.Minute
	stuckLaunching = session.StartLimit + 15*time.Minute
	stuckStopping  = 45 * time.Minute
)

// watch reports a lease that is stuck.
func (s *sweep) watch(l session.Lease) {
	limit := map[session.State]time.Duration{session.Reserved: stuckReserving, session.Claimed: stuckReserving,
		session.Launching: stuckLaunching, session.Stopping: stuckStopping}[l.State]
	if age := s.Clock.Now().Sub(l.StateAt); limit > 0 && age > limit {
		s.Log.Error("lease stuck", "session_id", l.SessionID, "outpost_id", l.OutpostID, "state", string(l.State), "for", age.String(), "reason", l.Reason)
		s.Metrics.Count(l.OutpostID, telemetry.LeasesStuck, 1)
	}
}

// correctAfter is for how long every sweep must have seen the same counter beside the same other leases before the counter is corrected: the index may lag, and in a
// busy outpost leases begin and end while they are counted. It is three sweeps a minute apart, less some seconds by which a schedule's beat may be off.
const correctAfter = 2*time.Minute - 10*time.Second

// checkSlots compares the slot counter with the leases.
func (s *sweep) checkSlots(ctx context.Context) {
	c, err := s.Store.Counter(ctx, s.o.ID)
	if err != nil {
		s.Log.Warn("slots not checked", "outpost_id", s.o.ID, "error", err.Error())
		return
	}
	if c.SlotsUsed == len(s.leases) {
		return
	}
	var ids, epochs []string // of the leases as they are now: this sweep took its time
	err = s.Store.Active(ctx, s.o.ID, func(l session.Lease) error {
		ids, epochs = append(ids, l.SessionID), append(epochs, l.Epoch)
		return nil
	})
	if err != nil || c.SlotsUsed == len(epochs) {
		return
	}
	slices.Sort(epochs)
	first := s.sighted(fmt.Sprintf("slots:%d:%x", c.SlotsUsed, sha256.Sum256([]byte(strings.Join(epochs, " "))))) // what is not seen again is forgotten
	if first.IsZero() || s.Clock.Now().Sub(first) < correctAfter {
		return
	}
	active := 0
	for _, id := range ids { // the index may still show what has ended
		l, err := s.Store.Get(ctx, id)
		if err != nil {
			s.Log.Warn("slots not checked", "outpost_id", s.o.ID, "error", err.Error())
			return
		}
		if l.Active() {
			active++
		}
	}
	if active == c.SlotsUsed {
		return
	}
	err = s.Store.CorrectSlots(ctx, s.o.ID, c.SlotsUsed, active)
	if err != nil && !errors.Is(err, lease.ErrLost) {
		s.Log.Warn("slots not corrected", "outpost_id", s.o.ID, "error", err.Error())
		return
	}
	if err == nil {
		s.Log.Error("slots corrected", "outpost_id", s.o.ID, "from", c.SlotsUsed, "to", active)
		s.Metrics.Count(s.o.ID, telemetry.SlotsCorrected, 1)
	}
}

// remember writes what the next sweep needs, if it changed.
func (s *sweep) remember(ctx context.Context) error {
	old := s.o.Health.Memo
	same := maps.Equal(old.Orphans, s.memo.Orphans) && old.NextClaims.Equal(s.memo.NextClaims) && old.Resume == s.memo.Resume
	if same {
		return nil
	}
	return s.Store.Swept(ctx, s.o.ID, s.memo)
}

// pollDead is how long poll may go without a listing before sweep lists in its place.
const pollDead = 3 * time.Minute

// standIn lists and offers when poll has not for a while, and takes sessions itself when they wait long beside free slots.
func (s *sweep) standIn(ctx context.Context) error {
	now := s.Clock.Now()
	if s.o.Config == nil || s.run.OutOfTime() {
		return nil
	}
	h := s.o.Health
	polled := now.Sub(h.LastPoll) < pollDead
	slow := !h.Waiting.IsZero() && now.Sub(h.Waiting) >= poll.Overdue
	if polled && !slow {
		return nil
	}
	s.run.Forget(s.o.ID) // this sweep has freed slots
	o, err := s.run.Outpost(ctx, s.o.ID)
	if err != nil || (polled && o.Free() == 0) {
		return err
	}
	waiting, err := poll.Offer(ctx, s.run, s.o.ID, o.Free(), poll.MostTaken)
	if err != nil || len(waiting) == 0 {
		return err
	}
	taken, err := poll.TakeOverdue(ctx, s.run, o, waiting)
	if !polled || taken > 0 {
		s.Log.Warn("sweep stands in", "outpost_id", s.o.ID, "last_poll", h.LastPoll, "waiting", len(waiting), "taken", taken)
		s.Metrics.Count(s.o.ID, telemetry.StoodIn, 1)
	}
	return err
}
