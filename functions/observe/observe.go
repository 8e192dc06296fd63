// Package observe hears of tasks that run or stop, and looks at their sessions at once instead of at the next sweep.
package observe

import (
	"context"
	"encoding/json"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Handler serves ECS task state changes.
type Handler struct{ functions.Kit }

// Handle looks after the session of a task that runs or stopped. Events come more than once and in any order: only what the lease does not know yet matters.
func (h Handler) Handle(ctx context.Context, raw json.RawMessage) error {
	event, err := events.DecodeTaskStateChange(raw)
	if err != nil {
		h.Log.Error("event unreadable, dropped", "error", err.Error())
		return nil
	}
	run, err := h.Begin(ctx)
	if err != nil {
		return err
	}
	seen, ours := run.TasksAPI.FromEvent(event)
	if !ours || seen.SessionID == "" || (seen.Task.Status != "RUNNING" && seen.Task.Exit == nil) {
		return nil
	}
	l, err := h.Store.Get(ctx, seen.SessionID)
	if err != nil {
		return err
	}
	if !l.Active() || l.AttemptID() != seen.Task.AttemptID { // a task that the lease does not name is sweep's to judge
		return nil
	}
	o, err := run.Outpost(ctx, l.OutpostID)
	if err != nil {
		return err
	}
	news := session.Tasks{Reading: session.Present, At: h.Clock.Now(), Partial: true, List: []session.Task{seen.Task}}
	res := run.Driver.Drive(ctx, drive.Job{SessionID: seen.SessionID, Outpost: o.Outpost, Tasks: news, Until: run.Until, Patience: functions.LongPatience})
	if res.Ended {
		poll.HandOn(ctx, run, l.OutpostID, 1)
	}
	if o.Quiet() > 0 { // to hear of the task again before the time is over would not help; sweep looks after it
		return nil
	}
	return res.Err
}
