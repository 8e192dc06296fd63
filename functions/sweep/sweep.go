// Package sweep looks at every lease once a minute. Run often enough it completes every life by itself: offers and events only make lives faster. It also clears away
// what no lease names, keeps the slot counters honest, and does the work of a poll or claim that does not do its own.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Handler serves the schedule; it ignores its payload.
type Handler struct{ functions.Kit }

// How much is looked at in parallel: so many outposts, so that one whose API does not answer does not take the time of those after it, and so many sessions of each.
const (
	outpostsAtOnce = 16
	sessionsAtOnce = 32
)

// Handle sweeps every outpost ever seen, all at once. One outpost's fault keeps no other back.
func (h Handler) Handle(ctx context.Context) error {
	run, err := h.Begin(ctx)
	if err != nil {
		return err
	}
	ids, err := h.outposts(ctx, run)
	if err != nil {
		return err
	}
	// Tasks are read before leases: a task's attempt is written before the task exists, so that a task which a later read of its lease does not name is an old one.
	began := h.Clock.Now()
	all, err := run.TasksAPI.All(ctx)
	known := err == nil
	var errs []error
	if err != nil {
		h.Log.Error("tasks not listed", "error", err.Error())
		errs = append(errs, err)
	}
	found := map[string]map[string][]session.Task{} // outpost → session → tasks
	for _, s := range all {
		if found[s.OutpostID] == nil {
			found[s.OutpostID] = map[string][]session.Task{}
		}
		found[s.OutpostID][s.SessionID] = append(found[s.OutpostID][s.SessionID], s.Task)
	}
	failed := make([]error, len(ids))
	h.FanOut(len(ids), outpostsAtOnce, func(i int) {
		if err := h.sweep(ctx, run, ids[i], listed{ok: known, at: began, of: found[ids[i]]}); err != nil {
			h.Log.Error("sweep failed", "outpost_id", ids[i], "error", err.Error())
			failed[i] = fmt.Errorf("sweep outpost %s: %w", ids[i], err)
		}
	})
	return errors.Join(append(errs, failed...)...)
}

// outposts are those configured and those ever seen.
func (h Handler) outposts(ctx context.Context, run *functions.Run) ([]string, error) {
	ids, err := h.Store.Noted(ctx)
	if err != nil {
		return nil, err
	}
	var fresh []string
	for _, o := range run.Configured {
		if !slices.Contains(ids, o.ID) {
			fresh = append(fresh, o.ID)
		}
	}
	if len(fresh) == 0 {
		return ids, nil
	}
	return append(ids, fresh...), h.Store.Note(ctx, fresh...)
}

// sweep looks at one outpost.
func (h Handler) sweep(ctx context.Context, run *functions.Run, id string, found listed) error {
	o, err := run.Outpost(ctx, id)
	if err != nil {
		return err
	}
	s := &sweep{Handler: h, run: run, o: o, memo: o.Health.Memo, tasks: found, leases: map[string]session.Lease{}, entries: map[string]session.Entry{}}
	s.memo.Orphans = nil
	if err := h.Store.Active(ctx, id, func(l session.Lease) error { s.leases[l.SessionID] = l; return nil }); err != nil {
		return err
	}
	s.readClaims(ctx)
	ended := s.look(ctx)
	s.checkSlots(ctx)
	err = s.remember(ctx)
	if ended > 0 && o.Config != nil {
		poll.HandOn(ctx, run, id, ended)
	}
	return errors.Join(err, s.standIn(ctx))
}

// listed are the tasks found in the cluster.
type listed struct {
	ok bool
	at time.Time
	of map[string][]session.Task
}
