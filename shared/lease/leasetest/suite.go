// Package leasetest is the contract that every lease store keeps.
package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

// at is the suite's fixed moment; finer than a second, so that a store that truncates is found out.
var at = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)

// Load is how many contend for slots in the contract's last case.
type Load struct{ Claimers, Sessions, Slots int }

// Full is the load that every store must bear; an emulator that is slow under contention may be given less.
var Full = Load{Claimers: 16, Sessions: 200, Slots: 50}

// Suite runs the contract against fresh, empty stores.
func Suite(t *testing.T, load Load, fresh func(t *testing.T) lease.Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s lease.Store)
	}{
		{"a lease comes back as it was written", comesBack},
		{"a session without a lease has none", hasNone},
		{"reserving takes a slot and ending gives it back", takesAndGivesBack},
		{"slots never pass the maximum", neverPasses},
		{"a draining outpost takes nothing", draining},
		{"a write over another revision is lost", revision},
		{"a write of another epoch is lost", epoch},
		{"a holder that ended writes nothing", afterEnd},
		{"a write whose answer was lost is ours when it is tried again", triedAgain},
		{"an ended lease is reserved again with a higher revision and without its expiry", resumed},
		{"only active leases are listed, and only of their outpost", listed},
		{"the counter is corrected only from what was read", corrected},
		{"outposts ever seen are noted once", noted},
		{"health is kept apart, part by part", health},
		{"one session takes the probe of a breaker", probe},
		{"claimers that contend make as many leases as there are slots", load.contention},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); c.run(t, fresh(t)) })
	}
}

// Lease is a full reserved lease of a session in outpost "o".
func Lease(id string) session.Lease {
	return session.Lease{Schema: session.SchemaVersion, SessionID: id, OutpostID: "o", State: session.Reserved, Epoch: "epoch-" + id, Rev: 1, Writer: "writer",
		ReservedAt: at, StateAt: at, UpdatedAt: at}
}

// next is the lease's next revision in a state.
func next(l session.Lease, s session.State) session.Lease {
	l.State, l.Rev = s, l.Rev+1
	if s == session.Ended {
		l.Outcome, l.EndedAt, l.ExpiresAt = session.Completed, at, at.Add(time.Hour).Truncate(time.Second)
	}
	return l
}

func comesBack(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 1))
	l = next(l, session.Stopping)
	l.Outcome, l.Verdict, l.Reason = session.GaveUp, session.Failed, "image not found"
	l.Attempt, l.Failures, l.GaveUps = 4, 3, 2
	l.TaskARN, l.Capacity, l.Ciphertext, l.GatewayURL, l.RemoteSHA = "arn:task", "fargate", "Y2lwaGVy", "wss://gateway", "0123456789"
	l.ClaimedAt, l.ClaimUntil, l.LaunchUntil, l.Deadline = at.Add(1), at.Add(2), at.Add(3), at.Add(4)
	l.NotBefore, l.ConnectedAt = at.Add(5), at.Add(6)
	l.Doubt = session.Doubt{Kind: session.SeemsSuspended, Reads: 2, At: at.Add(7)}
	must(t, s.Save(t.Context(), l))
	expect(t, s, l)
}

func hasNone(t *testing.T, s lease.Store) {
	if got, err := s.Get(t.Context(), "devin-none"); got != nil || err != nil {
		t.Errorf("got %+v, %v; want no lease and no error", got, err)
	}
}

func takesAndGivesBack(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 3))
	slots(t, s, 1)
	end := next(l, session.Ended)
	must(t, s.End(t.Context(), end))
	slots(t, s, 0)
	expect(t, s, end)
}

func neverPasses(t *testing.T, s lease.Store) {
	must(t, s.Reserve(t.Context(), Lease("devin-1"), 2))
	must(t, s.Reserve(t.Context(), Lease("devin-2"), 2))
	want(t, s.Reserve(t.Context(), Lease("devin-3"), 2), lease.ErrAtCapacity)
	want(t, s.Reserve(t.Context(), Lease("devin-3"), 0), lease.ErrAtCapacity)
	slots(t, s, 2)
	hasNoLease(t, s, "devin-3")
}

func draining(t *testing.T, s lease.Store) {
	must(t, s.Reserve(t.Context(), Lease("devin-1"), 2))
	must(t, s.SetDraining(t.Context(), "o", true))
	want(t, s.Reserve(t.Context(), Lease("devin-2"), 2), lease.ErrDraining)
	must(t, s.End(t.Context(), next(Lease("devin-1"), session.Ended)))
	c, err := s.Counter(t.Context(), "o")
	if diff := cmp.Diff(lease.Counter{SlotsUsed: 0, Draining: true}, c); diff != "" || err != nil {
		t.Error(diff, err)
	}
	must(t, s.SetDraining(t.Context(), "o", false))
	must(t, s.Reserve(t.Context(), Lease("devin-2"), 2))
}

func revision(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 2))
	must(t, s.Save(t.Context(), next(l, session.Claimed)))
	other := next(l, session.Stopping)
	want(t, s.Save(t.Context(), other), lease.ErrLost)
	want(t, s.End(t.Context(), next(l, session.Ended)), lease.ErrLost)
	same := next(l, session.Claimed)
	same.Writer = "another who wrote the same in the same moment"
	want(t, s.Save(t.Context(), same), lease.ErrLost)
	slots(t, s, 1)
	expect(t, s, next(l, session.Claimed))
}

func epoch(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 2))
	stranger := next(l, session.Claimed)
	stranger.Epoch = "another"
	want(t, s.Save(t.Context(), stranger), lease.ErrLost)
	stranger = next(l, session.Ended)
	stranger.Epoch = "another"
	want(t, s.End(t.Context(), stranger), lease.ErrLost)
	twice := Lease("devin-1")
	twice.Epoch = "another"
	want(t, s.Reserve(t.Context(), twice, 2), lease.ErrLost)
	slots(t, s, 1)
	expect(t, s, l)
}

func afterEnd(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 2))
	end := next(l, session.Ended)
	must(t, s.End(t.Context(), end))
	want(t, s.Save(t.Context(), next(l, session.Running)), lease.ErrLost)
	twice := next(l, session.Ended)
	twice.Reason = "a second end"
	want(t, s.End(t.Context(), twice), lease.ErrLost)
	slots(t, s, 0)
	expect(t, s, end)
}

func triedAgain(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 1))
	must(t, s.Reserve(t.Context(), l, 1))
	slots(t, s, 1)
	l = next(l, session.Claimed)
	must(t, s.Save(t.Context(), l))
	must(t, s.Save(t.Context(), l))
	end := next(l, session.Ended)
	must(t, s.End(t.Context(), end))
	must(t, s.End(t.Context(), end))
	slots(t, s, 0)
	expect(t, s, end)
}

func resumed(t *testing.T, s lease.Store) {
	l := Lease("devin-1")
	must(t, s.Reserve(t.Context(), l, 1))
	must(t, s.End(t.Context(), next(l, session.Ended)))
	want(t, s.Reserve(t.Context(), l, 1), lease.ErrLost) // revision 1 again
	again := Lease("devin-1")
	again.Rev, again.Epoch = 3, "epoch-2"
	must(t, s.Reserve(t.Context(), again, 1))
	slots(t, s, 1)
	expect(t, s, again)
}

func listed(t *testing.T, s lease.Store) {
	for i := range 3 {
		must(t, s.Reserve(t.Context(), Lease(fmt.Sprintf("devin-%d", i)), 9))
	}
	must(t, s.End(t.Context(), next(Lease("devin-1"), session.Ended)))
	other := Lease("devin-other")
	other.OutpostID = "p"
	must(t, s.Reserve(t.Context(), other, 9))
	var got []session.Lease
	must(t, s.Active(t.Context(), "o", func(l session.Lease) error { got = append(got, l); return nil }))
	if diff := cmp.Diff([]session.Lease{Lease("devin-0"), Lease("devin-2")}, got); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("enough")
	want(t, s.Active(t.Context(), "o", func(session.Lease) error { return stop }), stop)
}

func corrected(t *testing.T, s lease.Store) {
	must(t, s.CorrectSlots(t.Context(), "o", 0, 2))
	want(t, s.CorrectSlots(t.Context(), "o", 1, 5), lease.ErrLost)
	slots(t, s, 2)
	must(t, s.CorrectSlots(t.Context(), "o", 2, 1))
	slots(t, s, 1)
}

func noted(t *testing.T, s lease.Store) {
	must(t, s.Note(t.Context(), "o", "p"))
	must(t, s.Note(t.Context(), "p"))
	got, err := s.Noted(t.Context())
	if diff := cmp.Diff([]string{"o", "p"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func health(t *testing.T, s lease.Store) {
	must(t, s.Polled(t.Context(), "o", at, at.Add(-time.Minute)))
	must(t, s.Beat(t.Context(), "o", at.Add(time.Second)))
	must(t, s.Quiet(t.Context(), "o", at.Add(time.Minute)))
	must(t, s.Quiet(t.Context(), "o", at.Add(5*time.Second))) // asked for by a call that began before
	memo := lease.Memo{Orphans: map[string]time.Time{"arn:aws:ecs:task/1": at, "claim:devin-1": at.Add(1)}, NextClaims: at.Add(9), Resume: "devin-7"}
	must(t, s.Swept(t.Context(), "o", memo))
	must(t, s.Trip(t.Context(), "o", "gpu", lease.Breaker{Until: at, Trips: 1, Reason: "role denied"}))
	must(t, s.Trip(t.Context(), "o", "fargate", lease.Breaker{Until: at, Trips: 2, Reason: "image missing"}))
	must(t, s.Heal(t.Context(), "o", "gpu"))
	got, err := s.Health(t.Context(), "o")
	wanted := lease.Health{LastPoll: at, Waiting: at.Add(-time.Minute), Heartbeat: at.Add(time.Second), QuietUntil: at.Add(time.Minute), Memo: memo,
		Breakers: map[string]lease.Breaker{"fargate": {Until: at, Trips: 2, Reason: "image missing"}}}
	if diff := cmp.Diff(wanted, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func probe(t *testing.T, s lease.Store) {
	seen := lease.Breaker{Until: at, Trips: 1, Reason: "image missing"}
	must(t, s.Trip(t.Context(), "o", "fargate", seen))
	must(t, s.Probe(t.Context(), "o", "fargate", seen, at.Add(time.Minute)))
	want(t, s.Probe(t.Context(), "o", "fargate", seen, at.Add(time.Hour)), lease.ErrLost)
	h, err := s.Health(t.Context(), "o")
	if diff := cmp.Diff(map[string]lease.Breaker{"fargate": {Until: at.Add(time.Minute), Trips: 1, Reason: "image missing"}}, h.Breakers); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func (load Load) contention(t *testing.T, s lease.Store) {
	max := load.Slots
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[error]int{}
	for range load.Claimers {
		wg.Go(func() {
			for _, i := range rand.Perm(load.Sessions) {
				l := Lease(fmt.Sprintf("devin-%03d", i))
				l.Epoch = fmt.Sprint(rand.Uint64())
				err := s.Reserve(context.Background(), l, max)
				mu.Lock()
				got[err]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for err := range got {
		if err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, lease.ErrAtCapacity) {
			t.Error(err)
		}
	}
	active := 0
	must(t, s.Active(t.Context(), "o", func(session.Lease) error { active++; return nil }))
	if got[nil] != max || active != max {
		t.Errorf("%d reservations succeeded and %d leases are active, want %d of each", got[nil], active, max)
	}
	slots(t, s, max)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got %v, want %v", err, target)
	}
}

func slots(t *testing.T, s lease.Store, n int) {
	t.Helper()
	if c, err := s.Counter(t.Context(), "o"); err != nil || c.SlotsUsed != n {
		t.Errorf("slots used %d (%v), want %d", c.SlotsUsed, err, n)
	}
}

func expect(t *testing.T, s lease.Store, l session.Lease) {
	t.Helper()
	got, err := s.Get(t.Context(), l.SessionID)
	if diff := cmp.Diff(&l, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func hasNoLease(t *testing.T, s lease.Store, id string) {
	t.Helper()
	if got, err := s.Get(t.Context(), id); got != nil || err != nil {
		t.Errorf("got %+v, %v; want no lease", got, err)
	}
}
