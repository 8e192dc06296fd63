package drive

import (
	"context"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// outcomes are the metrics of the outcomes.
var outcomes = map[session.Outcome]telemetry.Metric{
	session.Completed: telemetry.Completed, session.Suspended: telemetry.Suspended, session.Lost: telemetry.Lost,
	session.GaveUp: telemetry.GaveUp, session.Refused: telemetry.Refused, session.Drained: telemetry.Drained,
}

// measure reports a change of state.
func (r *drive) measure(from session.State, to session.Lease) {
	id := to.OutpostID
	switch to.State {
	case session.Claimed:
		r.Metrics.Count(id, telemetry.Claimed, 1)
		if at := r.v.Entry.CreatedAt; !at.IsZero() && at.Before(to.ClaimedAt) {
			r.Metrics.Time(id, telemetry.PickupTime, to.ClaimedAt.Sub(at))
		}
	case session.Running:
		if from == session.Launching {
			r.Metrics.Time(id, telemetry.StartTime, to.StateAt.Sub(to.LaunchUntil.Add(-session.LaunchWindow)))
		}
	case session.Stopping:
		if to.Verdict == session.Failed && from != session.Stopping {
			r.Metrics.Count(id, telemetry.LaunchFailed, 1)
		}
	case session.Ended:
		if from == session.Reserved {
			r.Metrics.Count(id, telemetry.ClaimsLost, 1)
			return
		}
		r.Metrics.Count(id, outcomes[to.Outcome], 1)
	}
}

// trip opens a breaker, longer each time in a row: one, five, thirty minutes.
func (r *drive) trip(ctx context.Context, choice, reason string) {
	b := lease.Breaker{Trips: r.job.Outpost.Breakers[choice].Trips + 1, Reason: reason, Until: r.v.Now.Add(tripFor(r.job.Outpost.Breakers[choice].Trips))}
	if err := r.Breakers.Trip(ctx, r.job.Outpost.ID, choice, b); err != nil {
		r.blocked(err)
		return
	}
	r.Metrics.Count(r.job.Outpost.ID, telemetry.BreakerOpened, 1)
	r.Log.Error("breaker opened", "outpost_id", r.job.Outpost.ID, "capacity", choice, "until", b.Until, "reason", reason)
	r.open(choice)
}

// open marks a choice's breaker as open for the rest of this drive.
func (r *drive) open(choice string) {
	for i := range r.v.Terms.Capacity {
		if r.v.Terms.Capacity[i].Name == choice {
			r.v.Terms.Capacity[i].Breaker = session.Opened
		}
	}
}

func tripFor(before int) time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}[min(before, 2)]
}

// measureKept reports what changed within a state.
func (r *drive) measureKept(old, to session.Lease) {
	if old.ConnectedAt.IsZero() && !to.ConnectedAt.IsZero() {
		r.Metrics.Time(to.OutpostID, telemetry.ConnectTime, to.ConnectedAt.Sub(to.ReservedAt))
	}
	renewed := !old.ClaimUntil.IsZero() && to.ClaimedAt.After(old.ClaimedAt) && to.Epoch == old.Epoch
	if renewed && old.ClaimUntil.Sub(to.ClaimedAt) < old.ClaimUntil.Sub(old.ClaimedAt)/4 {
		r.Metrics.Count(to.OutpostID, telemetry.RenewedLate, 1)
	}
	if to.State == session.Launching && old.State == session.Launching && to.Failures > old.Failures {
		r.Metrics.Count(to.OutpostID, telemetry.LaunchFailed, 1)
	}
}
