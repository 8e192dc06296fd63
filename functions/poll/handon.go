package poll

import (
	"context"
	"errors"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// When a session is taken without claim, and how many in one invocation.
const (
	// Overdue is how long a session has waited when a free slot beside it means that offers go unanswered.
	Overdue = 3 * time.Minute
	// MostTaken bounds how many sessions one invocation takes.
	MostTaken = 20
)

// HandOn offers slots that came free to those who wait longest. No other free slot is offered: in a burst every end would offer them all anew, and the queue would
// fill with offers of sessions that are offered already. If other slots were free before, those who are overdue are taken at once.
func HandOn(ctx context.Context, run *functions.Run, outpostID string, slots int) {
	run.Forget(outpostID)
	if err := handOn(ctx, run, outpostID, slots); err != nil {
		run.Log.Warn("slot not handed on, poll will", "outpost_id", outpostID, "error", err.Error())
	}
}

func handOn(ctx context.Context, run *functions.Run, outpostID string, slots int) error {
	o, err := run.Outpost(ctx, outpostID)
	if err != nil {
		return err
	}
	if o.Free() <= slots {
		_, err = Offer(ctx, run, outpostID, slots, slots)
		return err
	}
	waiting, err := Offer(ctx, run, outpostID, slots, MostTaken)
	if err != nil {
		return err
	}
	_, err = TakeOverdue(ctx, run, o, waiting)
	return err
}

// TakeOverdue drives those of the waiting who are overdue, as claim would; no more at once than there are free slots, since where capacity is gone a slot is free again
// in no time. It answers how many it drove.
func TakeOverdue(ctx context.Context, run *functions.Run, o functions.Outpost, waiting []session.Entry) (int, error) {
	var late []session.Entry
	for _, e := range waiting {
		if !e.CreatedAt.IsZero() && run.Clock.Now().Sub(e.CreatedAt) >= Overdue && len(late) < MostTaken {
			late = append(late, e)
		}
	}
	if len(late) == 0 || o.Free() == 0 {
		return 0, nil
	}
	run.Log.Info("overdue sessions are taken without claim", "outpost_id", o.ID, "sessions", len(late), "free", o.Free())
	errs := make([]error, len(late))
	run.FanOut(len(late), o.Free(), func(i int) {
		errs[i] = run.Driver.Drive(ctx, drive.Job{SessionID: late[i].SessionID, Outpost: o.Outpost, Entry: late[i], Until: run.Until}).Err
	})
	return len(late), errors.Join(errs...)
}
