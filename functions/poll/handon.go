package poll

import (
	"context"
	"errors"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// When a session is taken without claim, and how many at once.
const (
	// Overdue is how long a session has waited when a free slot beside it means that offers go unanswered.
	Overdue   = 3 * time.Minute
	mostTaken = 20
	atOnce    = 20
)

// HandOn offers slots that came free to those who wait longest. No other free slot is offered: in a burst every end would offer them all anew, and the queue would
// fill with offers of sessions that are offered already. If other slots were free before, those who are overdue are taken at once.
func HandOn(ctx context.Context, run *functions.Run, outpostID string, slots int) {
	run.Forget(outpostID)
	waiting, err := Offer(ctx, run, outpostID, slots)
	if err == nil && len(waiting) > 0 {
		var o functions.Outpost
		if o, err = run.Outpost(ctx, outpostID); err == nil && o.Free() > slots {
			_, err = TakeOverdue(ctx, run, o, waiting)
		}
	}
	if err != nil {
		run.Log.Warn("slot not handed on, poll will", "outpost_id", outpostID, "error", err.Error())
	}
}

// TakeOverdue drives those of the waiting who are overdue, as claim would, at most as many as there are free slots. It answers how many it drove.
func TakeOverdue(ctx context.Context, run *functions.Run, o functions.Outpost, waiting []session.Entry) (int, error) {
	var late []session.Entry
	for _, e := range waiting {
		if !e.CreatedAt.IsZero() && run.Clock.Now().Sub(e.CreatedAt) >= Overdue && len(late) < min(mostTaken, o.Free()) {
			late = append(late, e)
		}
	}
	if len(late) > 0 {
		run.Log.Info("overdue sessions are taken without claim", "outpost_id", o.ID, "sessions", len(late), "free", o.Free())
	}
	errs := make([]error, len(late))
	run.FanOut(len(late), atOnce, func(i int) {
		errs[i] = run.Driver.Drive(ctx, drive.Job{SessionID: late[i].SessionID, Outpost: o.Outpost, Entry: late[i], Until: run.Until}).Err
	})
	return len(late), errors.Join(errs...)
}
