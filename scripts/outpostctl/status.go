package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

type statusCmd struct {
	Outpost []string `placeholder:"ID" help:"Only this outpost; may be given several times."`
	History bool     `help:"Show the sessions that ended in the last week as well (reads the whole table)."`
}

// outpostRow is an outpost as it is shown.
type outpostRow struct {
	OutpostID    string       `json:"outpost_id"`
	Configured   bool         `json:"configured"`
	SlotsUsed    int          `json:"slots_used"`
	MaxSessions  int          `json:"max_sessions"`
	Draining     bool         `json:"draining"`
	LastPoll     time.Time    `json:"last_poll,omitzero"`
	WaitingSince time.Time    `json:"waiting_since,omitzero"`
	QuietUntil   time.Time    `json:"quiet_until,omitzero"` // Devin's API wants to be left alone until then
	Breakers     []breakerRow `json:"breakers"`
}

type breakerRow struct {
	Capacity string    `json:"capacity"`
	Until    time.Time `json:"open_until"`
	Trips    int       `json:"trips"`
	Reason   string    `json:"reason"`
}

// String tells a breaker to people.
func (b breakerRow) String(now time.Time) string {
	when := "the next session probes it"
	if now.Before(b.Until) {
		when = "probed in " + age(b.Until.Sub(now))
	}
	return fmt.Sprintf("%s open (%s): %s", b.Capacity, when, b.Reason)
}

type status struct {
	At       time.Time    `json:"at"`
	Outposts []outpostRow `json:"outposts"`
	Leases   []leaseRow   `json:"leases"`
	History  []leaseRow   `json:"history,omitempty"`
}

// Run shows the outposts and their sessions.
func (c *statusCmd) Run(ctx context.Context, t *tool) error {
	d, run, err := t.begin(ctx)
	if err != nil {
		return err
	}
	ids, err := d.outposts(ctx, run, c.Outpost)
	if err != nil {
		return err
	}
	s := status{At: t.now().UTC(), Outposts: []outpostRow{}, Leases: []leaseRow{}}
	for _, id := range ids {
		row, err := readOutpost(ctx, run, id)
		if err != nil {
			return err
		}
		s.Outposts = append(s.Outposts, row)
		err = d.kit.Store.Active(ctx, id, func(l session.Lease) error { s.Leases = append(s.Leases, newLeaseRow(l)); return nil })
		if err != nil {
			return err
		}
	}
	if c.History {
		if s.History, err = d.history(ctx, s.At, ids); err != nil {
			return err
		}
	}
	if t.json {
		return printJSON(t.out, s)
	}
	return c.print(t, s)
}

func readOutpost(ctx context.Context, run *functions.Run, id string) (outpostRow, error) {
	o, err := run.Outpost(ctx, id)
	if err != nil {
		return outpostRow{}, fmt.Errorf("read outpost %s: %w", id, err)
	}
	row := outpostRow{OutpostID: id, Configured: o.Config != nil, SlotsUsed: o.Counter.SlotsUsed, Draining: o.Counter.Draining,
		LastPoll: o.Health.LastPoll, WaitingSince: o.Health.Waiting, QuietUntil: o.Health.QuietUntil, Breakers: breakerRows(o.Health.Breakers)}
	if o.Config != nil {
		row.MaxSessions = o.Config.MaxSessions
	}
	return row, nil
}

func breakerRows(m map[string]lease.Breaker) []breakerRow {
	rows := []breakerRow{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		rows = append(rows, breakerRow{name, m[name].Until, m[name].Trips, m[name].Reason})
	}
	return rows
}

func (c *statusCmd) print(t *tool, s status) error {
	tab := newTable(t.out, "OUTPOST", "SLOTS", "TAKES", "LAST POLL", "OLDEST WAITS", "BREAKERS")
	for _, o := range s.Outposts {
		var open []string
		for _, b := range o.Breakers {
			open = append(open, b.String(s.At))
		}
		waits := ""
		if !o.WaitingSince.IsZero() {
			waits = age(s.At.Sub(o.WaitingSince))
		}
		tab.row(o.OutpostID, fmt.Sprintf("%d/%d", o.SlotsUsed, o.MaxSessions), takes(o, s.At), ago(s.At, o.LastPoll), waits, strings.Join(open, "; "))
	}
	if err := tab.end(); err != nil {
		return err
	}
	fmt.Fprintln(t.out)
	if len(s.Leases) == 0 {
		fmt.Fprintln(t.out, "No session holds a slot.")
	} else if err := printLeases(t, s.At, s.Leases); err != nil {
		return err
	}
	if !c.History {
		return nil
	}
	fmt.Fprintln(t.out)
	if len(s.History) == 0 {
		fmt.Fprintln(t.out, "No session ended in the last week.")
		return nil
	}
	tab = newTable(t.out, "ENDED SESSION", "OUTCOME", "ENDED", "LASTED", "ATTEMPTS", "NOT BEFORE", "REASON")
	for _, l := range s.History {
		tab.row(l.SessionID, l.Outcome, ago(s.At, l.EndedAt), age(l.EndedAt.Sub(l.ReservedAt)), fmt.Sprint(l.Attempt), until(s.At, l.NotBefore), l.Reason)
	}
	return tab.end()
}

// takes says whether an outpost takes sessions, and if not, why.
func takes(o outpostRow, now time.Time) string {
	switch {
	case !o.Configured:
		return "no: left the configuration"
	case o.MaxSessions == 0:
		return "no: max_sessions is 0"
	case o.Draining:
		return "no: draining"
	case o.QuietUntil.After(now):
		return "no: Devin's API wants to be left alone for " + age(o.QuietUntil.Sub(now))
	}
	return "yes"
}

func printLeases(t *tool, now time.Time, rows []leaseRow) error {
	tab := newTable(t.out, "SESSION", "STATE", "ATTEMPT", "AGE", "CLAIM ENDS", "TASK", "REASON")
	for _, l := range rows {
		state := l.State
		if l.Outcome != "" {
			state += ": " + l.Outcome
		}
		tab.row(l.SessionID, state, fmt.Sprint(l.Attempt), age(now.Sub(l.ReservedAt)), until(now, l.ClaimUntil), shortTask(l.TaskARN), l.Reason)
	}
	return tab.end()
}
