package drive

import (
	"context"
	"errors"
	"fmt"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// save writes the lease.
func (r *drive) save(ctx context.Context, a session.Save) (done bool) {
	old := r.v.Lease
	a.To.Writer = r.writer
	if err := r.Leases.Save(ctx, a.To); err != nil {
		return r.notWritten(ctx, err)
	}
	if a.To.State == session.Launching && (a.To.Attempt != old.Attempt || !a.To.LaunchUntil.Equal(old.LaunchUntil)) {
		r.limit(*old, a.To)
	}
	r.wrote(a.To)
	if a.Trip != "" {
		r.trip(ctx, a.Trip, a.To.Reason)
	}
	if a.Heal != "" {
		if err := r.Breakers.Heal(ctx, a.To.OutpostID, a.Heal); err != nil {
			r.blocked(err)
		}
	}
	return false
}

// limit notes that this drive wrote a new LaunchUntil. The attempt is clear of others' calls when it is new, when nothing of it could land late, or when this drive
// has sent all of it.
func (r *drive) limit(old, to session.Lease) {
	if to.Attempt != old.Attempt || old.LaunchUntil.IsZero() {
		r.v.Limit = session.Clear
	} else if r.v.Limit == session.Foreign {
		r.v.Limit = session.Own
	}
}

// end writes the ended lease and gives the slot back.
func (r *drive) end(ctx context.Context, a session.End) (done bool) {
	a.To.Writer = r.writer
	if err := r.Leases.End(ctx, a.To); err != nil {
		return r.notWritten(ctx, err)
	}
	r.wrote(a.To)
	r.res.Ended, r.res.Err = true, nil
	r.res.Wait = session.Wait{Why: string(a.To.Outcome)}
	return true
}

// notWritten handles a write that did not happen. A lost fence is an outcome: the lease is read anew and looked at again.
func (r *drive) notWritten(ctx context.Context, err error) (done bool) {
	lost := errors.Is(err, lease.ErrLost)
	if !lost {
		r.blocked(fmt.Errorf("session %s: %w", r.job.SessionID, err))
	}
	if lost || len(r.ours) > 0 {
		if err := r.read(ctx); err != nil {
			r.blocked(err)
			return true
		}
		r.disown(ctx)
		r.unclaim(ctx)
	}
	r.lost++
	if lost && r.lost > maxLost {
		r.res.Err = fmt.Errorf("session %s: %w, %d times in a row", r.job.SessionID, err, r.lost)
	}
	return !lost || r.lost > maxLost
}

// unclaim gives back a claim that this drive made or renewed, when the lease that should have said so has ended meanwhile: whoever ended it released before.
func (r *drive) unclaim(ctx context.Context) {
	if !r.claimed || r.v.Lease.Active() {
		return
	}
	r.claimed = false
	err := r.job.Outpost.Fleet.Release(ctx, r.job.SessionID, r.job.Outpost.Terms.AcceptorID)
	if !givenBack(err) {
		r.blocked(err) // sweep finds it as an orphan
	}
}

// wrote takes over a lease that was written, and tells of it when its state or outcome changed.
func (r *drive) wrote(to session.Lease) {
	old := r.v.Lease
	r.v.Lease, r.v.Try = &to, session.Try{}
	r.lost, r.claimed = 0, false
	from := session.None
	if old != nil {
		from = old.State
	}
	if from == session.Ended {
		from = session.None
	}
	if old != nil {
		r.measureKept(*old, to)
	}
	if from == to.State && (old.Outcome == to.Outcome) && old.Attempt == to.Attempt {
		return
	}
	r.steps = append(r.steps, events.StateChange{Version: events.StateChangeVersion, ID: fmt.Sprintf("%s/%s/%d", to.SessionID, to.Epoch, to.Rev),
		OutpostID: to.OutpostID, SessionID: to.SessionID, From: string(from), To: string(to.State), Outcome: string(to.Outcome), Reason: to.Reason,
		Attempt: to.Attempt, TaskARN: to.TaskARN, At: to.UpdatedAt})
	r.Log.Info("session "+string(to.State), "session_id", to.SessionID, "outpost_id", to.OutpostID, "from", string(from), "attempt", to.Attempt,
		"failures", to.Failures, "capacity", to.Capacity, "task_arn", to.TaskARN, "outcome", string(to.Outcome), "reason", to.Reason)
	r.measure(from, to)
}
