package poll

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

const (
	// listEvery is the beat of the listings beside the stream, which was seen to stay open and bring nothing while sessions waited.
	listEvery = 20 * time.Second
	// watchFor is how long an invocation watches at the most. Two starts of a schedule of one minute can be nearly two minutes apart; an invocation ends earlier when
	// it sees that a newer one has begun, so that no moment is unwatched.
	watchFor = 150 * time.Second
	// scheduled is when the next invocation is due. From then on it is looked for every handOver: while both watch, both are paid for.
	scheduled = time.Minute
	handOver  = 5 * time.Second
)

// beat is how long to follow the stream before the next look, for a watch of this age.
func beat(every, age time.Duration) time.Duration {
	if age >= scheduled {
		return min(every, handOver)
	}
	return every
}

// watch lists an outpost at a steady beat, and between the listings follows its stream: a session that is queued there is offered at once.
func (h Handler) watch(ctx context.Context, run *functions.Run, id string) error {
	began := h.Clock.Now()
	if err := h.Store.Beat(ctx, id, began); err != nil {
		return err
	}
	end := began.Add(watchFor)
	if !run.Until.IsZero() && run.Until.Before(end) {
		end = run.Until
	}
	if o, err := run.Outpost(ctx, id); err == nil && o.Quiet() > 0 {
		h.leftAlone(id, o.Quiet())
	}
	for {
		now := h.Clock.Now()
		stop := now.Add(beat(cmp.Or(h.ListEvery, listEvery), now.Sub(began)))
		if end.Before(stop) {
			stop = end
		}
		o, err := run.Outpost(ctx, id)
		if err == nil && o.Quiet() > 0 {
			h.rest(ctx, o, stop)
		} else if err = h.once(ctx, run, id, stop); errors.Is(err, outposts.ErrUnauthorized) {
			return err // the schedule's minute is beat enough for a token that is refused
		}
		if !h.Clock.Now().Before(end) || ctx.Err() != nil {
			return err
		}
		run.Forget(id)
		if o, readErr := run.Outpost(ctx, id); readErr == nil && o.Health.Heartbeat.After(began) {
			return err
		}
	}
}

// once lists, and follows the stream until the next listing is due.
func (h Handler) once(ctx context.Context, run *functions.Run, id string, stop time.Time) error {
	f, err := h.list(ctx, run, id)
	var limited *outposts.RateLimitedError
	switch {
	case err == nil && f.cursor == "": // without one a stream tells all that ever was
		_ = h.Clock.Sleep(ctx, max(stop.Sub(h.Clock.Now()), 0))
	case err == nil:
		h.follow(ctx, run, id, f, stop)
	case errors.Is(err, outposts.ErrUnauthorized):
	case errors.As(err, &limited) && limited.RetryAfter > 0: // told already, and heeded
		return nil
	default:
		h.Log.Warn("listing failed, the next one comes soon", "outpost_id", id, "error", err.Error())
		_ = h.Clock.Sleep(ctx, max(stop.Sub(h.Clock.Now()), 0)) // an error is the context's, which the caller looks at
	}
	return err
}

// rest sleeps while the fleet API wants to be left alone, but not beyond stop. Not all that were told the same time are to come back in the same moment.
func (h Handler) rest(ctx context.Context, o functions.Outpost, stop time.Time) {
	for h.Clock.Now().Before(stop) && o.Quiet() > 0 && ctx.Err() == nil {
		pause := o.Quiet() + time.Duration(h.Jitter()*float64(time.Second))
		_ = h.Clock.Sleep(ctx, min(pause, stop.Sub(h.Clock.Now())))
	}
}

// follow watches the stream until the given time. A stream that ends early is no fault: it is opened again, after a moment.
func (h Handler) follow(ctx context.Context, run *functions.Run, id string, f found, stop time.Time) {
	o, err := run.Outpost(ctx, id) // as the listing read it
	if err != nil {
		return
	}
	s := &stream{run: run, o: o, free: max(0, o.Free()-f.offered), offered: map[string]bool{}}
	for _, e := range f.waiting[:f.offered] {
		s.offered[e.SessionID] = true
	}
	cursor := f.cursor
	for pause := time.Second; ; pause = min(2*pause, 8*time.Second) {
		left := stop.Sub(h.Clock.Now())
		if left <= 0 {
			return
		}
		watching, cancel := context.WithTimeout(ctx, left)
		cursor, err = o.Watcher.Watch(watching, id, cursor, func(e outposts.Event) error { return s.take(ctx, e) })
		over := watching.Err() != nil
		cancel()
		if over || o.Quiet() > 0 {
			return
		}
		if err != nil {
			h.Log.Warn("stream broken, the listing goes on", "outpost_id", id, "error", err.Error())
		}
		left = stop.Sub(h.Clock.Now())
		if err := h.Clock.Sleep(ctx, min(max(left, 0), pause)); err != nil {
			return
		}
	}
}

// stream is what a watch knows since the last listing.
type stream struct {
	run     *functions.Run
	o       functions.Outpost
	free    int // slots that were free and have not been offered
	offered map[string]bool
}

// take offers the session of a change, if it waits and there may be a slot for it. A change that cannot be read, and a failure to offer, are left to the listing.
func (s *stream) take(ctx context.Context, change outposts.Event) error {
	now := s.run.Clock.Now()
	if change.Err != nil || change.Deleted {
		return nil
	}
	e := drive.Entry(change.Entry, now)
	if e.OutpostID != s.o.ID || e.Unclaimable(s.o.Terms) != "" {
		delete(s.offered, e.SessionID) // taken or gone; when it waits again it is offered again
		return nil
	}
	if s.offered[e.SessionID] || !s.slot(ctx) {
		return nil
	}
	l, err := s.run.Store.Get(ctx, e.SessionID)
	if err != nil || l.Active() || (l != nil && now.Before(l.NotBefore)) {
		return nil
	}
	if err := s.run.Offers.Send(ctx, []events.Offer{events.NewOffer(s.o.ID, e.SessionID, now)}); err != nil {
		s.run.Log.Warn("offer not sent, the listing will", "outpost_id", s.o.ID, "session_id", e.SessionID, "error", err.Error())
		return nil
	}
	s.offered[e.SessionID], s.free = true, s.free-1
	s.run.Metrics.Count(s.o.ID, telemetry.Offered, 1)
	s.run.Log.Info("session offered", "outpost_id", s.o.ID, "session_id", e.SessionID)
	return nil
}

// slot says whether there may be a slot; when there was none, the counter is read again.
func (s *stream) slot(ctx context.Context) bool {
	if s.free > 0 {
		return true
	}
	c, err := s.run.Store.Counter(ctx, s.o.ID)
	if err != nil {
		return false
	}
	s.o.Counter = c
	s.free = s.o.Free()
	return s.free > 0
}
