// Package poll finds waiting sessions and offers them. Its listing is the truth of what waits; everything faster than it is only a hint.
package poll

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// Handler serves the schedule; it ignores its payload.
type Handler struct {
	functions.Kit
	ListEvery time.Duration // between two listings beside a stream; 0 = 20 s
}

// Handle lists every outpost at once and offers what can be taken. One outpost's fault keeps no other back.
func (h Handler) Handle(ctx context.Context) error {
	run, err := h.Begin(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, o := range run.Configured {
		ids = append(ids, o.ID)
	}
	if err := h.Store.Note(ctx, ids...); err != nil {
		return err
	}
	errs := make([]error, len(ids))
	h.FanOut(len(ids), max(len(ids), 1), func(i int) {
		if errs[i] = h.serve(ctx, run, ids[i]); errs[i] != nil {
			h.Log.Error("poll failed", "outpost_id", ids[i], "error", errs[i].Error())
		}
	})
	return errors.Join(errs...)
}

// serve lists an outpost, and goes on to watch it if that is its dispatch.
func (h Handler) serve(ctx context.Context, run *functions.Run, id string) error {
	c := run.Config(id)
	if c.Watch && h.Watcher != nil {
		return h.watch(ctx, run, id)
	}
	o, err := run.Outpost(ctx, id)
	if err != nil {
		return err
	}
	if rest := o.Quiet(); rest > 0 {
		h.leftAlone(id, rest)
		return nil
	}
	_, err = h.list(ctx, run, id)
	return err
}

// leftAlone tells why an outpost is not listed.
func (h Handler) leftAlone(id string, rest time.Duration) {
	h.Log.Info("fleet API wants to be left alone, not listed", "outpost_id", id, "for", rest.Round(time.Second).String())
}

// list lists and offers, and notes that it did: the note is poll's alone, so that its absence tells of poll.
func (h Handler) list(ctx context.Context, run *functions.Run, id string) (found, error) {
	o, err := run.Outpost(ctx, id)
	if err != nil {
		return found{}, err
	}
	f, err := list(ctx, run, o, o.Free(), o.Free())
	if err != nil {
		return f, err
	}
	run.Metrics.Count(id, telemetry.PollSucceeded, 1)
	return f, run.Store.Polled(ctx, id, run.Clock.Now(), oldest(f.waiting))
}

// oldest is since when the session has waited that waits longest; zero when none is known to.
func oldest(list []session.Entry) (since time.Time) {
	for _, e := range list {
		if !e.CreatedAt.IsZero() && (since.IsZero() || e.CreatedAt.Before(since)) {
			since = e.CreatedAt
		}
	}
	return since
}

// Offer lists an outpost's queue and offers the oldest sessions that can be taken, as many as there are free slots, and at most so many. It answers the entries that
// could be taken, oldest first, offered or not, not many more than are to be found; none while the fleet API wants to be left alone.
func Offer(ctx context.Context, run *functions.Run, outpostID string, most, find int) ([]session.Entry, error) {
	o, err := run.Outpost(ctx, outpostID)
	if err != nil || o.Quiet() > 0 {
		return nil, err
	}
	f, err := list(ctx, run, o, min(o.Free(), most), find)
	return f.waiting, err
}

// found is what a listing showed.
type found struct {
	waiting []session.Entry // could be taken, oldest first
	offered int             // so many of them were offered
	cursor  string          // where a watch goes on
}

// list lists and offers once, so many sessions at the most, and finds so many or a few more.
func list(ctx context.Context, run *functions.Run, o functions.Outpost, most, find int) (found, error) {
	if o.Config == nil {
		return found{}, nil
	}
	outpostID, now := o.ID, run.Clock.Now()
	waiting, cursor, err := waiting(ctx, run, o, max(most, find))
	if err != nil {
		run.Metrics.Count(outpostID, telemetry.PollFailed, 1)
		if errors.Is(err, outposts.ErrUnauthorized) {
			run.Metrics.Count(outpostID, telemetry.TokenRejected, 1)
		}
		return found{}, fmt.Errorf("list outpost %s: %w", outpostID, err)
	}
	if since := oldest(waiting); !since.IsZero() {
		run.Metrics.Time(outpostID, telemetry.OldestWaiting, max(0, now.Sub(since)))
	}
	list := make([]events.Offer, 0, most)
	for _, e := range waiting[:min(len(waiting), most)] {
		list = append(list, events.NewOffer(outpostID, e.SessionID, now))
	}
	f := found{waiting, len(list), cursor}
	if err := run.Offers.Send(ctx, list); err != nil {
		return f, err
	}
	run.Metrics.Count(outpostID, telemetry.Offered, len(list))
	if len(list) > 0 {
		run.Log.Info("sessions offered", "outpost_id", outpostID, "waiting", len(waiting), "free", o.Free(), "offered", len(list))
	}
	return f, nil
}

// waiting lists the sessions of an outpost that could be taken, in their turn, and one more than are asked for: those without a live lease and without a not-before in
// the future.
func waiting(ctx context.Context, run *functions.Run, o functions.Outpost, find int) ([]session.Entry, string, error) {
	listing, err := o.Fleet.List(ctx, outposts.ListQuery{Outpost: o.ID, Phase: outposts.PhasePending})
	if err != nil {
		return nil, "", err
	}
	skipped := len(listing.Skipped)
	for _, s := range listing.Skipped {
		run.Log.Warn("entry skipped", "outpost_id", o.ID, "session_id", s.SessionID, "reason", s.Reason)
	}
	var able []session.Entry
	for _, raw := range listing.Entries {
		e := drive.Entry(raw, run.Clock.Now())
		if e.OutpostID != o.ID {
			continue
		}
		if why := e.Unclaimable(o.Terms); why == "" {
			able = append(able, e)
		} else if e.Claimable() {
			skipped++
		}
	}
	run.Metrics.Count(o.ID, telemetry.Skipped, skipped)
	free, err := unheld(ctx, run, o.ID, able, find)
	return free, listing.Cursor, err
}

// mostUnread is how many leases may be unreadable before a listing gives up: one keeps no other back, but each may take as long as a call may.
const mostUnread = 3

// unheld leaves out the sessions that have a live lease or are not to be taken yet. Who was given back goes behind those who waited meanwhile.
func unheld(ctx context.Context, run *functions.Run, outpostID string, able []session.Entry, find int) ([]session.Entry, error) {
	if len(able) == 0 {
		return nil, nil
	}
	now, held := run.Clock.Now(), map[string]bool{}
	if err := run.Store.Active(ctx, outpostID, func(l session.Lease) error { held[l.SessionID] = true; return nil }); err != nil {
		return nil, err
	}
	sort.SliceStable(able, func(i, j int) bool { return able[i].CreatedAt.Before(able[j].CreatedAt) })
	var list []session.Entry
	since := map[string]time.Time{} // by session: when it began to wait
	fresh, unread := 0, 0
	for _, e := range able {
		if fresh > find { // one more than can be offered tells that sessions wait for slots
			break
		}
		if held[e.SessionID] {
			continue
		}
		l, err := run.Store.Get(ctx, e.SessionID)
		if err != nil {
			if unread++; unread > mostUnread {
				return nil, err
			}
			run.Log.Warn("lease not read, the next listing will", "outpost_id", outpostID, "session_id", e.SessionID, "error", err.Error())
			continue
		}
		if l.Active() || (l != nil && now.Before(l.NotBefore)) {
			continue
		}
		if since[e.SessionID] = e.CreatedAt; l != nil && l.EndedAt.After(e.CreatedAt) {
			since[e.SessionID] = l.EndedAt
		} else {
			fresh++
		}
		list = append(list, e)
	}
	sort.SliceStable(list, func(i, j int) bool { return since[list[i].SessionID].Before(since[list[j].SessionID]) })
	return list[:min(len(list), find+1)], nil
}
