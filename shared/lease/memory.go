package lease

import (
	"context"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Memory is a store in memory, for tests and the simulator. Its zero value is empty and ready.
type Memory struct {
	mu       sync.Mutex
	leases   map[string]item
	counters map[string]Counter
	health   map[string]Health
	noted    map[string]bool
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, sessionID string) (*session.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, ok := m.leases[sessionID]
	if !ok {
		return nil, nil
	}
	l := load(it)
	return &l, nil
}

// Reserve implements [Store].
func (m *Memory) Reserve(_ context.Context, to session.Lease, max int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.leases[to.SessionID]
	c := m.counters[to.OutpostID]
	switch {
	case ok && old == store(to):
		return nil
	case ok && (old.State != string(session.Ended) || old.Rev != to.Rev-1), !ok && to.Rev != 1:
		return ErrLost
	case c.Draining:
		return ErrDraining
	case c.SlotsUsed >= max:
		return ErrAtCapacity
	}
	c.SlotsUsed++
	m.put(to, c)
	return nil
}

// Save implements [Store].
func (m *Memory) Save(_ context.Context, to session.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fenced(to) {
		m.put(to, m.counters[to.OutpostID])
		return nil
	}
	return m.lostUnlessWritten(to)
}

// End implements [Store].
func (m *Memory) End(_ context.Context, to session.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fenced(to) {
		return m.lostUnlessWritten(to)
	}
	c := m.counters[to.OutpostID]
	c.SlotsUsed--
	m.put(to, c)
	return nil
}

func (m *Memory) fenced(to session.Lease) bool {
	old, ok := m.leases[to.SessionID]
	return ok && old.Epoch == to.Epoch && old.Rev == to.Rev-1
}

func (m *Memory) lostUnlessWritten(to session.Lease) error {
	if m.leases[to.SessionID] == store(to) {
		return nil
	}
	return ErrLost
}

func (m *Memory) put(l session.Lease, c Counter) {
	if m.leases == nil {
		m.leases = map[string]item{}
	}
	m.leases[l.SessionID] = store(l)
	m.count(l.OutpostID, c)
}

func (m *Memory) count(outpostID string, c Counter) {
	if m.counters == nil {
		m.counters = map[string]Counter{}
	}
	m.counters[outpostID] = c
}

// Active implements [Store].
func (m *Memory) Active(_ context.Context, outpostID string, visit func(session.Lease) error) error {
	for _, l := range m.All() {
		if l.Active() && l.OutpostID == outpostID {
			if err := visit(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// All lists every lease, ended or not, by session id.
func (m *Memory) All() []session.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]session.Lease, 0, len(m.leases))
	for _, it := range m.leases {
		out = append(out, load(it))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].SessionID < out[j].SessionID })
	return out
}

// Counter implements [Store].
func (m *Memory) Counter(_ context.Context, outpostID string) (Counter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counters[outpostID], nil
}

// SetDraining implements [Store].
func (m *Memory) SetDraining(_ context.Context, outpostID string, draining bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counters[outpostID]
	c.Draining = draining
	m.count(outpostID, c)
	return nil
}

// CorrectSlots implements [Store].
func (m *Memory) CorrectSlots(_ context.Context, outpostID string, from, to int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counters[outpostID]
	if c.SlotsUsed != from {
		return ErrLost
	}
	c.SlotsUsed = to
	m.count(outpostID, c)
	return nil
}

// Note implements [Store].
func (m *Memory) Note(_ context.Context, outpostIDs ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noted == nil {
		m.noted = map[string]bool{}
	}
	for _, id := range outpostIDs {
		m.noted[id] = true
	}
	return nil
}

// Noted implements [Store].
func (m *Memory) Noted(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.noted)), nil
}

// Health implements [Store].
func (m *Memory) Health(_ context.Context, outpostID string) (Health, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.health[outpostID]
	h.Breakers = maps.Clone(h.Breakers)
	h.Memo.Orphans = maps.Clone(h.Memo.Orphans)
	return h, nil
}

// Polled implements [Store].
func (m *Memory) Polled(_ context.Context, outpostID string, at, waiting time.Time) error {
	return m.change(outpostID, func(h *Health) error { h.LastPoll, h.Waiting = at.UTC(), waiting.UTC(); return nil })
}

// Beat implements [Store].
func (m *Memory) Beat(_ context.Context, outpostID string, at time.Time) error {
	return m.change(outpostID, func(h *Health) error { h.Heartbeat = at.UTC(); return nil })
}

// Quiet implements [Store].
func (m *Memory) Quiet(_ context.Context, outpostID string, until time.Time) error {
	return m.change(outpostID, func(h *Health) error {
		if until.After(h.QuietUntil) {
			h.QuietUntil = until.UTC()
		}
		return nil
	})
}

// Swept implements [Store].
func (m *Memory) Swept(_ context.Context, outpostID string, memo Memo) error {
	memo.Orphans = maps.Clone(memo.Orphans)
	return m.change(outpostID, func(h *Health) error { h.Memo = memo; return nil })
}

// Trip implements [Store].
func (m *Memory) Trip(_ context.Context, outpostID, choice string, b Breaker) error {
	return m.change(outpostID, func(h *Health) error { h.Breakers[choice] = b; return nil })
}

// Probe implements [Store].
func (m *Memory) Probe(_ context.Context, outpostID, choice string, seen Breaker, until time.Time) error {
	return m.change(outpostID, func(h *Health) error {
		if b, ok := h.Breakers[choice]; !ok || !b.Until.Equal(seen.Until) {
			return ErrLost
		}
		seen.Until = until.UTC()
		h.Breakers[choice] = seen
		return nil
	})
}

// Heal implements [Store].
func (m *Memory) Heal(_ context.Context, outpostID, choice string) error {
	return m.change(outpostID, func(h *Health) error { delete(h.Breakers, choice); return nil })
}

func (m *Memory) change(outpostID string, fn func(*Health) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.health == nil {
		m.health = map[string]Health{}
	}
	h := m.health[outpostID]
	h.Breakers = maps.Clone(h.Breakers)
	if h.Breakers == nil {
		h.Breakers = map[string]Breaker{}
	}
	if err := fn(&h); err != nil {
		return err
	}
	m.health[outpostID] = h
	return nil
}
