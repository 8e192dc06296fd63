package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// readEntry reads the session's queue entry. A read that fails is no evidence of anything.
func (r *drive) readEntry(ctx context.Context) {
	orphan := r.v.Entry.Orphan
	r.v.Entry = session.Entry{Reading: session.Failing, At: r.v.Now, Orphan: orphan}
	if r.job.Outpost.Fleet == nil {
		return
	}
	e, err := r.job.Outpost.Fleet.Get(ctx, r.job.SessionID)
	switch {
	case err == nil:
		r.v.Entry = Entry(e, r.v.Now)
		r.v.Entry.Orphan = orphan
	case errors.Is(err, outposts.ErrNotFound):
		r.v.Entry.Reading = session.Absent
	case errors.Is(err, outposts.ErrMalformed):
		r.v.Entry.Reading = session.Garbled
		r.blocked(err)
	default:
		r.blocked(err)
	}
}

// Entry is a queue entry as the core sees it, read at the given time.
func Entry(e outposts.Entry, at time.Time) session.Entry {
	return session.Entry{Reading: session.Present, At: at, SessionID: e.SessionID, OutpostID: e.OutpostID, Phase: e.Phase, AcceptorID: e.AcceptorID,
		Status: e.Status, Platform: e.Platform, RemoteSHA: e.RemoteSHA, Restricted: e.NetworkPolicy != nil && e.NetworkPolicy.Enabled, CreatedAt: e.CreatedAt}
}

// readTasks lists the session's tasks. News that came before the list is kept where the list lags behind it.
func (r *drive) readTasks(ctx context.Context) {
	news := r.v.Tasks.List
	var known []string
	if r.v.Lease != nil && r.v.Lease.TaskARN != "" {
		known = append(known, r.v.Lease.TaskARN)
	}
	list, err := r.Tasks.OfSession(ctx, r.job.SessionID, known...)
	if err != nil {
		r.v.Tasks = session.Tasks{Reading: session.Failing, At: r.v.Now, List: news}
		r.blocked(fmt.Errorf("session %s: %w", r.job.SessionID, err))
		return
	}
	for _, t := range news {
		list = merge(list, t)
	}
	for _, t := range list {
		if t.Status == "MISSING" && t.AttemptID == "" && (r.v.Lease == nil || t.ARN != r.v.Lease.TaskARN) { // listed and not yet told of: it could be of any attempt
			r.v.Tasks = session.Tasks{Reading: session.Failing, At: r.v.Now, List: list}
			return
		}
	}
	r.v.Tasks = session.Tasks{Reading: session.Present, At: r.v.Now, List: list}
}

// merge puts what is known of a task into a list: STOPPED absorbs, and of two others the higher version wins.
func merge(list []session.Task, t session.Task) []session.Task {
	for i, old := range list {
		if old.ARN != t.ARN {
			continue
		}
		newer := t.Version > old.Version || old.Status == "MISSING"
		if old.Exit == nil && (t.Exit != nil || newer) {
			list[i] = t
		}
		list[i].Orphan = t.Orphan // only a sweep's list knows of earlier sightings
		return list
	}
	return append(list, t)
}

// blocked keeps an error that stands in the way, and tells it once.
func (r *drive) blocked(err error) {
	r.res.Err = err
	if errors.Is(err, outposts.ErrUnauthorized) {
		r.Metrics.Count(r.job.Outpost.ID, telemetry.TokenRejected, 1)
	}
	level := slog.LevelWarn
	if limited := (*outposts.RateLimitedError)(nil); errors.As(err, &limited) {
		level = slog.LevelDebug // told once for the outpost
	}
	r.Log.Log(context.Background(), level, "session blocked", "session_id", r.job.SessionID, "outpost_id", r.job.Outpost.ID, "state", r.state(), "error", err.Error())
}
