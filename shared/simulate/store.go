package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// store is the lease table: lease.Memory, reached by calls that take time and fail, with an index that lags.
type store struct {
	w      *world
	memory lease.Memory
	leases map[string]session.Lease // what memory holds, to be read without cost
	held   map[string]int           // active leases, by outpost
	full   map[string]time.Duration // by outpost: when a reservation last took the last slot, or found none
	index  map[string][]string      // by outpost: the sessions that the index may show, in order
	listed map[string]bool          // whether a session stands there
	before map[string]shownUntil    // what the index still shows
}

// shownUntil is a lease as a lagging index shows it.
type shownUntil struct {
	lease *session.Lease
	until time.Duration
}

func newStore(w *world) *store {
	return &store{w: w, leases: map[string]session.Lease{}, held: map[string]int{}, full: map[string]time.Duration{}, before: map[string]shownUntil{}, index: map[string][]string{}, listed: map[string]bool{}}
}

// Get implements lease.Store.
func (s *store) Get(_ context.Context, id string) (l *session.Lease, err error) {
	err = s.w.call(table, "GetItem", id, time.Time{}, func() {
		if have, ok := s.leases[id]; ok {
			l = &have
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read lease of session %s: %w", id, err)
	}
	return l, nil
}

// counter is the slot counter as it stands in the table.
func (s *store) counter(outpost string) lease.Counter {
	c, _ := s.memory.Counter(context.Background(), outpost) // memory answers no error
	return c
}

// write makes one fenced write.
func (s *store) write(verb string, to session.Lease, do func() error) error {
	refused := error(nil)
	err := s.w.call(table, verb, to.SessionID, time.Time{}, func() {
		refused = do()
		if refused == nil {
			s.wrote(to)
		} else if !errors.Is(refused, lease.ErrLost) || s.w.opts.Trace != "" {
			s.w.note(to.SessionID, "%s %s rev %d: %v", verb, to.State, to.Rev, refused)
		}
	})
	if err != nil {
		return fmt.Errorf("%s lease of session %s: %w", verb, to.SessionID, err)
	}
	return refused
}

// Reserve implements lease.Store.
func (s *store) Reserve(ctx context.Context, to session.Lease, max int) error {
	return s.write("Reserve", to, func() error {
		err := s.memory.Reserve(ctx, to, max)
		if err == nil && s.leases[to.SessionID].Rev != to.Rev {
			s.held[to.OutpostID]++
			s.w.judge.reserved(to, max)
		}
		if s.held[to.OutpostID] >= max {
			s.full[to.OutpostID] = s.w.now
		}
		return err
	})
}

// Save implements lease.Store.
func (s *store) Save(ctx context.Context, to session.Lease) error {
	return s.write("Save", to, func() error { return s.memory.Save(ctx, to) })
}

// End implements lease.Store.
func (s *store) End(ctx context.Context, to session.Lease) error {
	return s.write("End", to, func() error {
		err := s.memory.End(ctx, to)
		if err == nil && s.leases[to.SessionID].Rev != to.Rev {
			s.held[to.OutpostID]--
			s.w.judge.ended(to)
		}
		return err
	})
}

// wrote follows a write that happened.
func (s *store) wrote(to session.Lease) {
	w, id := s.w, to.SessionID
	old, had := s.leases[id]
	if had && old.Rev == to.Rev {
		return
	}
	if !s.listed[id] {
		s.listed[id] = true
		s.index[to.OutpostID] = append(s.index[to.OutpostID], id)
	}
	if w.inject(IndexLags, w.plan.indexLags) {
		shown := shownUntil{until: w.now + w.between(time.Second, 45*time.Second)}
		if had {
			shown.lease = &old
		}
		if still, ok := s.before[id]; ok && still.until > w.now {
			shown.lease = still.lease
		}
		s.before[id] = shown
	}
	s.leases[id] = to
	if w.opts.Trace != "" {
		w.note(id, "lease %d %s%s attempt %d failures %d%s", to.Rev, to.State, paren(string(to.Outcome)), to.Attempt, to.Failures, colon(to.Reason))
	}
	w.judge.clear(id, "the lease", to.Ciphertext, to.Reason, to.GatewayURL, to.RemoteSHA, to.TaskARN, to.Capacity)
	w.judge.wrote(old, to)
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// Active implements lease.Store.
func (s *store) Active(_ context.Context, outpostID string, visit func(session.Lease) error) error {
	list := make([]session.Lease, 0, s.held[outpostID]+2)
	err := s.w.call(table, "Query", outpostID, time.Time{}, func() {
		rows := s.index[outpostID]
		keep := rows[:0]
		for _, id := range rows {
			l := s.leases[id]
			old, lags := s.before[id]
			lags = lags && s.w.now < old.until
			if !lags && !l.Active() {
				s.listed[id] = false
				continue
			}
			keep = append(keep, id)
			if lags && old.lease == nil {
				continue
			}
			if lags {
				l = *old.lease
			}
			if l.Active() {
				list = append(list, l)
			}
		}
		s.index[outpostID] = keep
	})
	if err != nil {
		return fmt.Errorf("query leases of outpost %s: %w", outpostID, err)
	}
	for _, l := range list {
		if err := visit(l); err != nil {
			return err
		}
	}
	return nil
}

// Counter implements lease.Store.
func (s *store) Counter(ctx context.Context, id string) (c lease.Counter, err error) {
	err = s.w.instant(table, "GetItem", id, func() { c, _ = s.memory.Counter(ctx, id) })
	return c, err
}

// SetDraining implements lease.Store.
func (s *store) SetDraining(ctx context.Context, id string, draining bool) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.SetDraining(ctx, id, draining) })
}

// CorrectSlots implements lease.Store.
func (s *store) CorrectSlots(ctx context.Context, id string, from, to int) error {
	refused := error(nil)
	err := s.w.call(table, "UpdateItem", id, time.Time{}, func() {
		if refused = s.memory.CorrectSlots(ctx, id, from, to); refused == nil {
			s.w.judge.corrected(id, from, to)
		}
	})
	return errors.Join(err, refused)
}

// Note implements lease.Store.
func (s *store) Note(ctx context.Context, ids ...string) error {
	return s.w.call(table, "UpdateItem", "", time.Time{}, func() { _ = s.memory.Note(ctx, ids...) })
}

// Noted implements lease.Store.
func (s *store) Noted(ctx context.Context) (ids []string, err error) {
	err = s.w.call(table, "GetItem", "", time.Time{}, func() { ids, _ = s.memory.Noted(ctx) })
	return slices.Clone(ids), err
}

// Health implements lease.Store.
func (s *store) Health(ctx context.Context, id string) (h lease.Health, err error) {
	err = s.w.instant(table, "GetItem", id, func() { h, _ = s.memory.Health(ctx, id) })
	if s.w.judge.quiet(id) { // it may not call the fleet API, and so is as good as met by an outage
		s.w.current.inv.faulted = true
	}
	return h, err
}

// Polled implements lease.Store.
func (s *store) Polled(ctx context.Context, id string, at, waiting time.Time) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Polled(ctx, id, at, waiting) })
}

// Beat implements lease.Store.
func (s *store) Beat(ctx context.Context, id string, at time.Time) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Beat(ctx, id, at) })
}

// Quiet implements lease.Store.
func (s *store) Quiet(ctx context.Context, id string, until time.Time) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Quiet(ctx, id, until) })
}

// Swept implements lease.Store.
func (s *store) Swept(ctx context.Context, id string, m lease.Memo) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Swept(ctx, id, m) })
}

// Trip implements lease.Store.
func (s *store) Trip(ctx context.Context, id, choice string, b lease.Breaker) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Trip(ctx, id, choice, b) })
}

// Probe implements lease.Store.
func (s *store) Probe(ctx context.Context, id, choice string, seen lease.Breaker, until time.Time) (err error) {
	failed := s.w.call(table, "UpdateItem", id, time.Time{}, func() { err = s.memory.Probe(ctx, id, choice, seen, until) })
	return errors.Join(failed, err)
}

// Heal implements lease.Store.
func (s *store) Heal(ctx context.Context, id, choice string) error {
	return s.w.call(table, "UpdateItem", id, time.Time{}, func() { _ = s.memory.Heal(ctx, id, choice) })
}
