package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

type doctorCmd struct{}

// verdict is how a check came out.
type verdict string

const (
	pass verdict = "pass"
	warn verdict = "warn"
	fail verdict = "fail"
)

// check is one line of the doctor's table.
type check struct {
	Result verdict `json:"result"`
	Of     string  `json:"of"` // an outpost's id, or deployment
	What   string  `json:"what"`
	Found  string  `json:"found"`
}

// examination gathers checks.
type examination struct {
	d      *deployment
	t      *tool
	checks []check
}

func (x *examination) note(result verdict, of, what, format string, args ...any) {
	x.checks = append(x.checks, check{result, of, what, fmt.Sprintf(format, args...)})
}

// whole is what a check is of that concerns no one outpost.
const whole = "deployment"

// Run examines the deployment.
func (doctorCmd) Run(ctx context.Context, t *tool) error {
	d, err := t.find(ctx)
	if err != nil {
		return err
	}
	x := &examination{d: d, t: t}
	run, err := d.kit.Begin(ctx)
	if err != nil {
		x.note(fail, whole, "configuration", "%v", err)
	} else {
		x.note(pass, whole, "configuration", "%d outposts", len(run.Configured))
	}
	x.table(ctx)
	x.queues(ctx)
	x.key(ctx)
	if run != nil {
		x.cluster(ctx, run)
		for _, o := range run.Configured {
			x.outpost(ctx, run, o.ID)
		}
		x.strays(ctx, run)
	}
	failed := slices.ContainsFunc(x.checks, func(c check) bool { return c.Result == fail })
	if err := x.print(failed); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: the checks after the interruption prove nothing")
	}
	if failed {
		return errors.New("something does not work: see the checks that failed")
	}
	return nil
}

func (x *examination) print(failed bool) error {
	if x.t.json {
		return printJSON(x.t.out, map[string]any{"ok": !failed, "checks": x.checks})
	}
	tab := newTable(x.t.out, "RESULT", "OF", "CHECK", "FOUND")
	for _, c := range x.checks {
		tab.row(string(c.Result), c.Of, c.What, c.Found)
	}
	return tab.end()
}
