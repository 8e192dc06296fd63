package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// summary is what the demo claims at its end; all of it is read from the fleet, ECS and the table.
type summary struct {
	Sessions        int     `json:"sessions"`
	AsExpected      int     `json:"sessions_ended_as_expected"`
	Served          int     `json:"sessions_served"`
	ClaimedMedian   float64 `json:"queued_to_claimed_median_seconds"`
	ClaimedWorst    float64 `json:"queued_to_claimed_worst_seconds"`
	ConnectedMedian float64 `json:"queued_to_connected_median_seconds"`
	ConnectedWorst  float64 `json:"queued_to_connected_worst_seconds"`
	SlotsUsed       int     `json:"slots_used"`
	TasksAlive      int     `json:"tasks_alive"`
	ClaimsHeld      int     `json:"claims_held"`
}

// OK says whether every session ended as it should and nothing was left behind.
func (s summary) OK() bool {
	return s.AsExpected == s.Sessions && s.SlotsUsed == 0 && s.TasksAlive == 0 && s.ClaimsHeld == 0
}

func summarise(ctx context.Context, l *laptop.Laptop, ids []string, cast []life, w *waits) summary {
	ctx = context.WithoutCancel(ctx)
	s := summary{Sessions: len(ids)}
	s.ClaimedMedian, s.ClaimedWorst = middle(w.claimed)
	s.ConnectedMedian, s.ConnectedWorst = middle(w.connected)
	for i, id := range ids {
		f, lease := l.Fleet.Session(id), l.Lease(ctx, id)
		if lease.State == session.Ended && lease.Outcome == cast[i].want {
			s.AsExpected++
		}
		if f.Connections > 0 {
			s.Served++
		}
		if f.Phase == "claimed" && f.AcceptorID == laptop.AcceptorID {
			s.ClaimsHeld++
		}
	}
	for _, t := range l.ECS.Tasks() {
		if t.Status != "STOPPED" {
			s.TasksAlive++
		}
	}
	c, err := l.Store.Counter(ctx, laptop.Outpost)
	s.SlotsUsed = c.SlotsUsed
	if err != nil {
		s.SlotsUsed = -1
	}
	return s
}

// middle answers the median and the worst, in seconds.
func middle(d []time.Duration) (median, worst float64) {
	if len(d) == 0 {
		return 0, 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2].Seconds(), d[len(d)-1].Seconds()
}

func (s *show) summary(sum summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == "json" {
		s.json(map[string]any{"summary": sum, "ok": sum.OK()})
		return
	}
	fmt.Printf("\nsessions served      %d of %d; %d ended as they should\n", sum.Served, sum.Sessions, sum.AsExpected)
	fmt.Printf("queued to claimed    median %.2f s, worst %.2f s\n", sum.ClaimedMedian, sum.ClaimedWorst)
	fmt.Printf("queued to connected  median %.2f s, worst %.2f s\n", sum.ConnectedMedian, sum.ConnectedWorst)
	fmt.Printf("left behind          slots used %d, tasks alive %d, claims held %d\n", sum.SlotsUsed, sum.TasksAlive, sum.ClaimsHeld)
}
