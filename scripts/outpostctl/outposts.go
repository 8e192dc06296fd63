package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/devin-outposts/devin-outposts-aws/functions"
)

// begin finds the deployment and reads its configuration.
func (t *tool) begin(ctx context.Context) (*deployment, *functions.Run, error) {
	d, err := t.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	run, err := d.kit.Begin(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the configuration: %w", err)
	}
	return d, run, nil
}

// outposts are the ids of the outposts that are configured or were ever seen, sorted; or those that are asked for, which must be among them.
func (d *deployment) outposts(ctx context.Context, run *functions.Run, wanted []string) ([]string, error) {
	ids, err := d.kit.Store.Noted(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the outposts ever seen: %w", err)
	}
	for _, o := range run.Configured {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(wanted) == 0 {
		return ids, nil
	}
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("outpost %q is not configured here and was never seen: give one of %s", id, strings.Join(ids, ", "))
		}
	}
	return wanted, nil
}
