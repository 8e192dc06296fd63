package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

type drainCmd struct {
	Outpost []string      `placeholder:"ID" help:"Only this outpost; may be given several times. Without it, all that are configured or were ever seen."`
	Now     bool          `help:"Stop what runs instead of waiting for its end. The sessions go back to Devin's queue."`
	Timeout time.Duration `default:"30m" help:"Give up waiting after this long. The outposts go on draining."`
	Every   time.Duration `default:"5s" help:"How often to look."`
}

type resumeCmd struct {
	Outpost []string `placeholder:"ID" help:"Only this outpost; may be given several times."`
}

// drain is one run of the command.
type drain struct {
	*drainCmd
	t    *tool
	d    *deployment
	run  *functions.Run
	ids  []string
	told string // what was told last
	when time.Time
}

// Run empties the outposts. The functions do the work: claim reserves nothing in an outpost that drains, and sweep and observe give back what ends.
func (c *drainCmd) Run(ctx context.Context, t *tool) error {
	if c.Every <= 0 || c.Timeout <= 0 {
		return fmt.Errorf("--every is %s and --timeout is %s: give durations above zero, such as 5s and 30m", c.Every, c.Timeout)
	}
	d, run, ids, err := t.setDraining(ctx, c.Outpost, true)
	if err != nil {
		return err
	}
	r := &drain{drainCmd: c, t: t, d: d, run: run, ids: ids}
	r.tell(progress{Event: "draining", Text: "draining, nothing new is taken: " + strings.Join(ids, ", ")})
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	left, err := r.wait(limited)
	switch {
	case err == nil:
		r.tell(progress{Event: "drained", Text: "drained: no session holds a slot and no task lives; `" + t.command("resume", c.Outpost) + "` takes sessions again"})
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted with %s; the outposts go on draining: `%s` waits on, `%s` takes sessions again",
			left, t.command("drain", c.Outpost), t.command("resume", c.Outpost))
	case limited.Err() != nil:
		return fmt.Errorf("%s passed with %s; the outposts go on draining: wait on with a longer --timeout, stop what runs with --now, or take sessions again with `%s`. "+
			"If nothing moves at all, `%s` says why", c.Timeout, left, t.command("resume", c.Outpost), t.command("doctor", nil))
	}
	return fmt.Errorf("%w; the outposts go on draining: `%s` takes sessions again", err, t.command("resume", c.Outpost))
}

// wait looks until nothing is left.
func (r *drain) wait(ctx context.Context) (left, error) {
	var last left
	for {
		now, err := r.look(ctx)
		switch {
		case err == nil && now.none():
			if !r.giveBack(ctx) {
				return now, nil
			}
			last = now
		case err == nil:
			last = now
			r.tell(progress{Event: "waiting", Text: now.String(), Slots: now.slots, Leases: now.leases, Tasks: now.tasks})
		case ctx.Err() != nil:
			return last, ctx.Err()
		case !awserr.Temporary(err):
			return last, err
		default:
			r.tell(progress{Event: "not read", Text: "cannot look, trying again: " + err.Error()})
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(r.Every):
		}
	}
}

// left is what keeps the outposts from being empty.
type left struct {
	counted bool
	slots   int // by the counters, which are read consistently
	leases  []leaseRow
	tasks   []string // ARNs of tasks that live
}

func (l left) none() bool { return l.slots == 0 && len(l.leases) == 0 && len(l.tasks) == 0 }

func (l left) String() string {
	if !l.counted {
		return "nothing counted yet"
	}
	count := map[string]int{}
	for _, row := range l.leases {
		count[row.State]++
	}
	var states []string
	for _, s := range []session.State{session.Reserved, session.Claimed, session.Launching, session.Running, session.Stopping} {
		if n := count[string(s)]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	return fmt.Sprintf("slots used %d, tasks alive %d, leases: %s", l.slots, len(l.tasks), cmp.Or(strings.Join(states, ", "), "none"))
}

// look reads what is left, and with --now stops the tasks among it that have not been told to.
func (r *drain) look(ctx context.Context) (left, error) {
	var l left
	for _, id := range r.ids {
		counter, err := r.d.kit.Store.Counter(ctx, id)
		if err != nil {
			return l, err
		}
		l.slots += counter.SlotsUsed
		err = r.d.kit.Store.Active(ctx, id, func(s session.Lease) error { l.leases = append(l.leases, newLeaseRow(s)); return nil })
		if err != nil {
			return l, err
		}
	}
	all, err := r.run.TasksAPI.All(ctx)
	if err != nil {
		return l, err
	}
	unlisted, err := r.ofLeases(ctx, l.leases)
	if err != nil {
		return l, err
	}
	for _, s := range append(all, unlisted...) {
		if !s.Task.Live() || !slices.Contains(r.ids, s.OutpostID) {
			continue
		}
		l.tasks = append(l.tasks, s.Task.ARN)
		if err := r.stop(ctx, s); err != nil {
			return l, err
		}
	}
	l.counted = true
	return l, nil
}

// ofLeases reads the tasks of sessions whose outpost has left the configuration: the list of all tasks knows them no more by their family.
func (r *drain) ofLeases(ctx context.Context, leases []leaseRow) (list []tasks.Seen, err error) {
	for _, l := range leases {
		if r.run.Config(l.OutpostID) != nil {
			continue
		}
		var known []string
		if l.TaskARN != "" {
			known = append(known, l.TaskARN)
		}
		found, err := r.run.TasksAPI.OfSession(ctx, l.SessionID, known...)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			list = append(list, tasks.Seen{SessionID: l.SessionID, OutpostID: l.OutpostID, Task: t})
		}
	}
	return list, nil
}

func (r *drain) stop(ctx context.Context, s tasks.Seen) error {
	if !r.Now || s.Task.Desired == "STOPPED" {
		return nil
	}
	if err := r.run.TasksAPI.Stop(ctx, s.Task.ARN, "the outpost is being drained now"); err != nil {
		return err
	}
	r.tell(progress{Event: "stopped", Text: "told to stop: task " + shortTask(s.Task.ARN) + " of session " + oneLine(s.SessionID), SessionID: s.SessionID, TaskARN: s.Task.ARN})
	return nil
}

// setDraining starts or ends draining of the outposts that were asked for, or of all, and answers which those are.
func (t *tool) setDraining(ctx context.Context, asked []string, draining bool) (*deployment, *functions.Run, []string, error) {
	d, run, err := t.begin(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	ids, err := d.outposts(ctx, run, asked)
	if err != nil {
		return nil, nil, nil, err
	}
	return d, run, ids, d.setDraining(ctx, ids, draining)
}

// setDraining starts or ends draining.
func (d *deployment) setDraining(ctx context.Context, ids []string, draining bool) error {
	var errs []error
	for _, id := range ids {
		if err := d.kit.Store.SetDraining(ctx, id, draining); err != nil {
			errs = append(errs, fmt.Errorf("set draining of outpost %s to %v: %w", id, draining, err))
		}
	}
	return errors.Join(errs...)
}
