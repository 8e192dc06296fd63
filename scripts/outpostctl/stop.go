package main

import (
	"context"
	"errors"
	"fmt"
)

type stopCmd struct {
	Session string `arg:"" help:"Id of the session."`
	Reason  string `required:"" help:"Why, for those who read it later. It stands in the task and in the lease; put no secret in it."`
}

// Run stops every task of the session that lives.
func (c *stopCmd) Run(ctx context.Context, t *tool) error {
	d, run, err := t.begin(ctx)
	if err != nil {
		return err
	}
	l, err := d.kit.Store.Get(ctx, c.Session)
	if err != nil {
		return err
	}
	list, err := run.TasksAPI.OfSession(ctx, c.Session)
	if err != nil {
		return err
	}
	stopped := []string{}
	var errs []error
	for _, task := range list {
		if !task.Live() {
			continue
		}
		if err := run.TasksAPI.Stop(ctx, task.ARN, "stopped by hand: "+c.Reason); err != nil {
			errs = append(errs, err)
			continue
		}
		stopped = append(stopped, task.ARN)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(stopped) == 0 {
		return fmt.Errorf("session %s has no task that lives; `%s %s` tells what is known of it", c.Session, t.command("session", nil), c.Session)
	}
	if t.json {
		return printJSON(t.out, map[string]any{"session_id": c.Session, "stopped": stopped, "holds_slot": l.Active()})
	}
	for _, arn := range stopped {
		fmt.Fprintln(t.out, "told to stop: "+arn)
	}
	if l.Active() {
		fmt.Fprintln(t.out, "The session keeps its slot: it gets another worker, unless it is over, sleeps, or its outpost drains.")
	}
	return nil
}
