package main

import (
	"context"
	"errors"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// giveBack releases the claims of ours that are still held in outposts that drain and hold no slot: no life is left that they could belong to, and none can begin.
// A renewal that landed after its session's end leaves one. It says whether there were any; what cannot be read is told, and runs out by itself.
func (r *drain) giveBack(ctx context.Context) (some bool) {
	for _, id := range r.ids {
		o, err := r.run.Outpost(ctx, id)
		if err == nil && o.Fleet == nil {
			continue // it left the configuration, and its token with it
		}
		var claims outposts.Listing
		if err == nil {
			claims, err = o.Fleet.List(ctx, outposts.ListQuery{Outpost: id, Phase: outposts.PhaseClaimed, AcceptorID: r.run.AcceptorID})
		}
		if err != nil {
			r.tell(progress{Event: "not read", Text: "whether claims are held is not known, and those that are run out within minutes: " + err.Error()})
			continue
		}
		for _, e := range claims.Entries {
			if e.OutpostID != id || e.Phase != outposts.PhaseClaimed || e.AcceptorID != r.run.AcceptorID {
				continue
			}
			err := o.Fleet.Release(ctx, e.SessionID, r.run.AcceptorID)
			if err != nil && !errors.Is(err, outposts.ErrClaimLost) && !errors.Is(err, outposts.ErrNotFound) {
				r.tell(progress{Event: "not released", SessionID: e.SessionID, Text: "a claim was not released, and runs out within minutes: " + err.Error()})
				continue
			}
			some = true
			r.tell(progress{Event: "released", SessionID: e.SessionID, Text: "released the claim of session " + oneLine(e.SessionID) + ", which no lease named"})
		}
	}
	return some
}
