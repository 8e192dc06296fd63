package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// fleetPort is the fleet API as one outpost's account token sees it.
type fleetPort struct {
	w       *world
	outpost string
}

// entry is what the API shows of a session.
func (f *fleet) entry(s *devin) outposts.Entry {
	live := f.live(s)
	e := outposts.Entry{SessionID: s.id, OutpostID: s.outpost, CreatedAt: epoch.Add(s.created.Truncate(time.Second)), Kind: s.kind, Platform: cmp.Or(s.platform, "linux"),
		Phase: session.PhasePending, Status: s.shown}
	if s.restricted {
		e.NetworkPolicy = &outposts.NetworkPolicy{Enabled: true}
	}
	if live {
		e.Phase, e.AcceptorID, e.ClaimDeadline = session.PhaseClaimed, s.holder, epoch.Add(s.deadline)
	}
	if f.w.now < s.flash && s.status == session.StatusRunning {
		e.Status = session.StatusSuspended
	}
	if live && s.holder == acceptor && f.w.now < s.lied {
		switch s.lie {
		case "over":
			e.Status = session.StatusTerminated
		case "stolen":
			e.AcceptorID = "rival"
		}
	}
	return e
}

// visible says whether a read finds the session.
func (f *fleet) visible(s *devin) bool { return s != nil && s.queued && f.w.now >= s.blip }

// apiError is a failed call as the client tells it.
func (w *world) apiError(op, id, outpost string, err error) error {
	switch {
	case errors.Is(err, errThrottled):
		limited := &outposts.RateLimitedError{Op: op, RetryAfter: time.Duration(w.from(0, 7)) * time.Second}
		if w.chance(0.1) {
			limited.RetryAfter = w.between(time.Minute, 15*time.Minute)
		}
		w.fleet.quiet[outpost] = max(w.fleet.quiet[outpost], w.now+max(limited.RetryAfter, time.Second))
		return limited
	case errors.Is(err, errDown) && w.plan.tokenRefused:
		return fmt.Errorf("%s: %w", op, outposts.ErrUnauthorized)
	case errors.Is(err, errFailed) && w.chance(0.2):
		if s := w.fleet.byID[id]; s != nil {
			s.saidNo = w.now
		}
		return &outposts.RefusedError{Op: op, Status: 422}
	}
	return &outposts.TemporaryError{Op: op, Err: err}
}

// call makes one call to the API.
func (p fleetPort) call(verb, id string, effect func()) error {
	w := p.w
	if len(w.plan.hangs) > 0 && w.within(w.plan.hangs, p.outpost) {
		w.faults[Hangs]++
		w.calls[fleetAPI][verb]++
		w.current.inv.faulted = true
		w.current.sleep(callTimeout)
		return errTimeout
	}
	return w.call(fleetAPI, verb, id, time.Time{}, effect)
}

// List implements functions.Fleet.
func (p fleetPort) List(_ context.Context, q outposts.ListQuery) (list outposts.Listing, err error) {
	f := p.w.fleet
	err = p.call("list", p.outpost, func() {
		rows := f.queue[q.Outpost]
		keep := rows[:0]
		for _, s := range rows {
			if !s.queued {
				s.listed = false
				continue
			}
			if keep = append(keep, s); !f.visible(s) {
				continue
			}
			e := f.entry(s)
			if (q.Phase == "" || e.Phase == q.Phase) && (q.AcceptorID == "" || e.AcceptorID == q.AcceptorID) {
				list.Entries = append(list.Entries, e)
			}
		}
		f.queue[q.Outpost] = keep
		slices.SortStableFunc(list.Entries, func(a, b outposts.Entry) int { return a.CreatedAt.Compare(b.CreatedAt) })
	})
	if err != nil {
		return outposts.Listing{}, p.w.apiError("list", "", p.outpost, err)
	}
	list.Cursor = strconv.Itoa(len(f.changes[q.Outpost]))
	return list, nil
}

// Get implements functions.Fleet.
func (p fleetPort) Get(_ context.Context, id string) (e outposts.Entry, err error) {
	f := p.w.fleet
	found := false
	err = p.call("get", id, func() {
		if s := f.byID[id]; f.visible(s) {
			e, found = f.entry(s), true
		}
	})
	switch {
	case err != nil:
		return outposts.Entry{}, p.w.apiError("get "+id, id, p.outpost, err)
	case !found:
		return outposts.Entry{}, fmt.Errorf("get %s: %w", id, outposts.ErrNotFound)
	}
	return e, nil
}

// Claim implements functions.Fleet.
func (p fleetPort) Claim(_ context.Context, id, who string) (c outposts.Claim, err error) {
	w, f := p.w, p.w.fleet
	refused := error(outposts.ErrNotFound)
	w.judge.claims(f.byID[id])
	err = p.call("claim", id, func() { c, refused = f.claim(f.byID[id], who) })
	switch {
	case err != nil:
		return outposts.Claim{}, p.w.apiError("claim "+id, id, p.outpost, err)
	case refused != nil:
		return outposts.Claim{}, fmt.Errorf("claim %s: %w", id, refused)
	}
	return c, nil
}

// claim is the compare-and-set.
func (f *fleet) claim(s *devin, who string) (outposts.Claim, error) {
	w := f.w
	switch {
	case !f.visible(s):
		return outposts.Claim{}, outposts.ErrNotFound
	case f.live(s) && s.holder == who && s.denials > 0 && s.server != nil:
		s.denials--
		s.lied = w.now
		w.note(s.id, "a renewal is denied")
		return outposts.Claim{}, outposts.ErrClaimLost
	case f.live(s) && s.holder != who:
		return outposts.Claim{}, outposts.ErrClaimLost
	case !f.live(s):
		if w.opts.day != nil {
			w.opts.day.taken(s)
		}
		s.unbroken++
		s.token = fmt.Sprintf("connect-token-%s-%d", s.id, s.unbroken)
	}
	s.claimed, s.holder, s.deadline, s.granted, s.asked = true, who, w.now+claimLife, w.now, w.begun
	if s.askedBy = nil; !w.late && w.current != nil {
		s.askedBy = w.current.inv
	}
	f.changed(s)
	w.note(s.id, "claimed by us until %s", clockText(s.deadline))
	lied := s.lied
	s.lied = 0 // what a claim answers is so
	c := outposts.Claim{Entry: f.entry(s), ConnectToken: outposts.Secret(s.token), GatewayURL: "wss://gateway.devin.example/", Life: claimLife}
	s.lied = lied
	if s.badClaims > 0 && !w.faultsOff {
		s.badClaims--
		s.badly = w.now
		w.faults[BadClaim]++
		switch w.from(0, 3) {
		case 0:
			c.ConnectToken = ""
		case 1:
			c.GatewayURL = "ws://gateway.devin.example/"
		case 2:
			c.Entry.SessionID = "devin-other"
		case 3:
			return c, outposts.ErrMalformed
		}
		w.note(s.id, "the claim's answer is bad")
	}
	return c, nil
}

// Release implements functions.Fleet.
func (p fleetPort) Release(_ context.Context, id, who string) error {
	f := p.w.fleet
	refused := error(outposts.ErrClaimLost)
	err := p.call("release", id, func() { refused = f.release(f.byID[id], who) })
	switch {
	case err != nil:
		return p.w.apiError("release "+id, id, p.outpost, err)
	case refused != nil:
		return fmt.Errorf("release %s: %w", id, refused)
	}
	return nil
}

func (f *fleet) release(s *devin, who string) error {
	if s == nil || !s.queued || !f.live(s) || s.holder != who {
		return outposts.ErrClaimLost
	}
	f.w.note(s.id, "released by us")
	f.w.judge.released(s)
	s.freed, s.byLate = f.w.now, f.w.late
	if a := f.w.current; a != nil {
		s.freedBy = a.inv
	}
	f.free(s, f.w.now)
	return nil
}
