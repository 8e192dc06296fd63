package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

type sessionCmd struct {
	Session string `arg:"" help:"Id of the session, such as devin-…"`
}

// report is everything known of one session.
type report struct {
	At        time.Time `json:"at"`
	SessionID string    `json:"session_id"`
	OutpostID string    `json:"outpost_id,omitempty"`
	Lease     *leaseRow `json:"lease"` // null = none
	Entry     *entryRow `json:"queue_entry"`
	EntryNote string    `json:"queue_entry_note,omitempty"` // why there is none
	Tasks     []taskRow `json:"tasks"`
	Next      next      `json:"next"`
}

type entryRow struct {
	Phase         string    `json:"phase"`
	AcceptorID    string    `json:"acceptor_id,omitempty"`
	Ours          bool      `json:"ours"`
	Status        string    `json:"session_status"`
	Kind          string    `json:"kind"`
	Platform      string    `json:"platform"`
	RemoteSHA     string    `json:"remote_binary_sha,omitempty"`
	NetworkPolicy bool      `json:"network_policy"`
	ClaimDeadline time.Time `json:"claim_deadline,omitzero"`
	CreatedAt     time.Time `json:"created_at,omitzero"`
}

type taskRow struct {
	ARN     string `json:"task_arn"`
	Status  string `json:"status"`
	Desired string `json:"desired_status"`
	Current bool   `json:"current_attempt"`
	Verdict string `json:"verdict,omitempty"` // of a stopped task
	Reason  string `json:"reason,omitempty"`
}

// Run shows one session.
func (c *sessionCmd) Run(ctx context.Context, t *tool) error {
	d, run, err := t.begin(ctx)
	if err != nil {
		return err
	}
	v, r := session.View{}, report{SessionID: c.Session, Tasks: []taskRow{}}
	if v.Lease, err = d.kit.Store.Get(ctx, c.Session); err != nil {
		return err
	}
	if v.Lease != nil {
		row := newLeaseRow(*v.Lease)
		r.Lease, r.OutpostID = &row, row.OutpostID
	}
	if err := c.readEntry(ctx, run, &v, &r); err != nil {
		return err
	}
	v.Tasks = session.Tasks{Reading: session.Present, At: t.now().UTC()}
	if v.Tasks.List, err = run.TasksAPI.OfSession(ctx, c.Session); err != nil {
		return err
	}
	for _, task := range v.Tasks.List {
		r.Tasks = append(r.Tasks, newTaskRow(v.Lease, task))
	}
	if r.Lease == nil && r.Entry == nil && len(r.Tasks) == 0 {
		return fmt.Errorf("nothing is known of session %q: it has no lease here, no task, and stands in no queue of the configured outposts (%s)", c.Session, r.EntryNote)
	}
	if r.OutpostID != "" {
		o, err := run.Outpost(ctx, r.OutpostID)
		if err != nil {
			return err
		}
		v.Terms = o.Terms
	}
	v.Now = t.now().UTC()
	r.At, r.Next = v.Now, describe(v, session.Next(v))
	if t.json {
		return printJSON(t.out, r)
	}
	return r.print(t.out)
}

// readEntry reads the queue entry with the lease's account token, or without a lease with one token after the other until one finds it.
func (c *sessionCmd) readEntry(ctx context.Context, run *functions.Run, v *session.View, r *report) error {
	v.Entry = session.Entry{Reading: session.Failing}
	r.EntryNote = "its outpost has left the configuration, so that the queue cannot be read"
	for _, configured := range run.Configured {
		if r.OutpostID != "" && configured.ID != r.OutpostID {
			continue
		}
		o, err := run.Outpost(ctx, configured.ID)
		if err != nil {
			return err
		}
		e, err := o.Fleet.Get(ctx, c.Session)
		v.Entry.At = run.Clock.Now()
		switch {
		case err == nil:
			v.Entry = drive.Entry(e, v.Entry.At)
			row := newEntryRow(e, run.AcceptorID)
			r.Entry, r.EntryNote, r.OutpostID = &row, "", e.OutpostID
			return nil
		case errors.Is(err, outposts.ErrNotFound):
			v.Entry.Reading, r.EntryNote = session.Absent, "not in the queue"
		default:
			v.Entry.Reading, r.EntryNote = session.Failing, err.Error()
		}
	}
	return nil
}

func newEntryRow(e outposts.Entry, acceptorID string) entryRow {
	return entryRow{Phase: e.Phase, AcceptorID: e.AcceptorID, Ours: e.Phase == outposts.PhaseClaimed && e.AcceptorID == acceptorID, Status: e.Status, Kind: e.Kind,
		Platform: e.Platform, RemoteSHA: e.RemoteSHA, NetworkPolicy: e.NetworkPolicy != nil && e.NetworkPolicy.Enabled, ClaimDeadline: e.ClaimDeadline, CreatedAt: e.CreatedAt}
}

func newTaskRow(l *session.Lease, task session.Task) taskRow {
	row := taskRow{ARN: task.ARN, Status: task.Status, Desired: task.Desired, Current: l.Active() && (task.AttemptID == l.AttemptID() || task.ARN == l.TaskARN)}
	if task.Exit != nil {
		row.Verdict, row.Reason = string(task.Exit.Verdict), task.Exit.Reason
	}
	return row
}

// print tells the report to people.
func (r report) print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(tab, "%s\t%s\n", key, oneLine(value))
		}
	}
	line("session", r.SessionID)
	line("outpost", r.OutpostID)
	if l := r.Lease; l == nil {
		line("lease", "none")
	} else {
		line("lease", fmt.Sprintf("%s since %s (attempt %d, %d failures, revision %d)", l.State, age(r.At.Sub(l.StateAt)), l.Attempt, l.Failures, l.Rev))
		line("  outcome", l.Outcome)
		line("  reason", l.Reason)
		line("  doubt", l.Doubt)
		line("  reserved", ago(r.At, l.ReservedAt))
		line("  claim ends", until(r.At, l.ClaimUntil))
		line("  capacity", l.Capacity)
		line("  connected", ago(r.At, l.ConnectedAt))
		line("  maximum age", until(r.At, l.Deadline))
		line("  not before", until(r.At, l.NotBefore))
		line("  ended", ago(r.At, l.EndedAt))
	}
	line("queue entry", r.EntryNote)
	if e := r.Entry; e != nil {
		line("queue entry", fmt.Sprintf("%s, session %s, %s on %s", e.Phase, e.Status, e.Kind, e.Platform))
		line("  queued", ago(r.At, e.CreatedAt))
		if e.AcceptorID != "" {
			line("  held by", map[bool]string{true: "us", false: "somebody else: " + e.AcceptorID}[e.Ours])
		}
		line("  claim ends", until(r.At, e.ClaimDeadline))
	}
	for _, task := range r.Tasks {
		line("task", fmt.Sprintf("%s %s (wanted %s)%s", shortTask(task.ARN), task.Status, task.Desired, map[bool]string{true: ", of this attempt", false: ", of another attempt"}[task.Current]))
		line("  ended", task.Reason)
	}
	line("next", r.Next.String(r.At))
	return tab.Flush()
}
