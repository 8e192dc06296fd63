package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// account lists the outposts of the account; outposts.Client has it.
type account interface {
	Outposts(ctx context.Context) ([]outposts.Outpost, error)
}

// outpost checks one configured outpost.
func (x *examination) outpost(ctx context.Context, run *functions.Run, id string) {
	o, err := run.Outpost(ctx, id)
	if err != nil {
		x.note(fail, id, "table rows", "%v", err)
		return
	}
	x.token(ctx, run, o)
	x.poll(o)
	x.slots(ctx, o)
	x.breakers(o)
}

// token checks that the account token can be read and is accepted for what poll does, and that the outpost exists.
func (x *examination) token(ctx context.Context, run *functions.Run, o functions.Outpost) {
	listing, err := o.Fleet.List(ctx, outposts.ListQuery{Outpost: o.ID})
	switch {
	case o.Quiet() > 0:
		x.note(warn, o.ID, "account token", "not checked: Devin's API wants to be left alone for %s, and nothing is listed, claimed or renewed until then", age(o.Quiet()))
		return
	case errors.Is(err, outposts.ErrNotFound): // a word about the outpost, not about the token
		x.note(pass, o.ID, "account token", "read and accepted")
	case err != nil:
		x.note(fail, o.ID, "account token", "%v", err)
		return
	default:
		x.note(pass, o.ID, "account token", "read and accepted; %d sessions in the queue", len(listing.Entries))
	}
	if n := len(listing.Skipped); n > 0 {
		x.note(warn, o.ID, "queue entries", "%d cannot be read; the first: %s", n, listing.Skipped[0].Reason)
	}
	found, err := run.Fleet(*o.Config).(account).Outposts(ctx)
	switch {
	case err != nil:
		x.note(warn, o.ID, "outpost exists", "not checked, the outposts cannot be listed: %v", err)
	case !slices.ContainsFunc(found, func(f outposts.Outpost) bool { return f.ID == o.ID }):
		x.note(fail, o.ID, "outpost exists", "Devin knows no such outpost under this token: correct its id in the configuration, or create it")
	default:
		x.note(pass, o.ID, "outpost exists", "Devin knows it")
	}
}

// pollRecent is how long ago the last listing may be: poll runs each minute, and sweep stands in after three.
const pollRecent = 3 * time.Minute

func (x *examination) poll(o functions.Outpost) {
	now, last := x.t.now(), o.Health.LastPoll
	switch {
	case last.IsZero():
		x.note(fail, o.ID, "poll", "never listed this outpost: right after a deployment wait two minutes, else see the logs of poll")
	case now.Sub(last) > pollRecent:
		x.note(fail, o.ID, "poll", "last listed %s: see the logs of poll and its schedule", ago(now, last))
	default:
		x.note(pass, o.ID, "poll", "last listed %s", ago(now, last))
	}
	if since := o.Health.Waiting; !since.IsZero() && now.Sub(since) > 5*time.Minute && o.Free() > 0 {
		x.note(fail, o.ID, "waiting sessions", "one has waited %s beside %d free slots: see the logs of claim", age(now.Sub(since)), o.Free())
	}
}

// slots checks the counter against the leases, and whether the outpost takes sessions at all.
func (x *examination) slots(ctx context.Context, o functions.Outpost) {
	active := 0
	err := x.d.kit.Store.Active(ctx, o.ID, func(session.Lease) error { active++; return nil })
	switch {
	case err != nil:
		x.note(fail, o.ID, "slots", "%v", err)
	case active != o.Counter.SlotsUsed:
		x.note(warn, o.ID, "slots", "%d used by the counter, %d by the leases: either something changes just now, or sweep corrects it within three minutes", o.Counter.SlotsUsed, active)
	case o.Config.MaxSessions == 0:
		x.note(warn, o.ID, "slots", "max_sessions is 0: the outpost takes no session")
	case o.Counter.Draining:
		x.note(warn, o.ID, "slots", "draining, %d still used: `%s` takes sessions again", active, x.t.command("resume", nil))
	default:
		x.note(pass, o.ID, "slots", "%d of %d used", active, o.Config.MaxSessions)
	}
}

func (x *examination) breakers(o functions.Outpost) {
	rows := breakerRows(o.Breakers)
	var open []string
	for _, c := range o.Config.Capacity {
		if i := slices.IndexFunc(rows, func(b breakerRow) bool { return b.Capacity == c.Name }); i >= 0 {
			open = append(open, rows[i].String(x.t.now()))
		}
	}
	switch {
	case len(open) == 0:
		x.note(pass, o.ID, "capacity", "every choice takes sessions")
	case len(open) < len(o.Config.Capacity):
		x.note(warn, o.ID, "capacity", "not taking sessions: %s", strings.Join(open, "; "))
	default:
		x.note(fail, o.ID, "capacity", "no choice takes sessions: %s", strings.Join(open, "; "))
	}
}

// strays tells of outposts that left the configuration and still hold slots.
func (x *examination) strays(ctx context.Context, run *functions.Run) {
	ids, err := x.d.kit.Store.Noted(ctx)
	if err != nil {
		return // told of already
	}
	for _, id := range ids {
		counter, err := x.d.kit.Store.Counter(ctx, id)
		switch {
		case run.Config(id) != nil:
		case err != nil:
			x.note(fail, id, "slots", "%v", err)
		case counter.SlotsUsed > 0:
			x.note(warn, id, "slots", "%d used, though the outpost left the configuration: its tasks run to their end; `%s` stops them", counter.SlotsUsed,
				x.t.command("drain", []string{id})+" --now")
		}
	}
}

var _ account = (*outposts.Client)(nil)
