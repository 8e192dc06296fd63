package main

import (
	"context"
	"fmt"
)

// Run ends draining. An outpost whose max_sessions is 0 still takes nothing.
func (c *resumeCmd) Run(ctx context.Context, t *tool) error {
	_, run, ids, err := t.setDraining(ctx, c.Outpost, false)
	if err != nil {
		return err
	}
	rows := []outpostRow{}
	for _, id := range ids {
		row, err := readOutpost(ctx, run, id)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if t.json {
		return printJSON(t.out, map[string]any{"outposts": rows})
	}
	for _, row := range rows {
		fmt.Fprintf(t.out, "%s  takes sessions: %s\n", row.OutpostID, takes(row, t.now()))
	}
	return nil
}
