package outposts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
)

type wireOutpost struct {
	Metadata struct {
		OutpostID string `json:"outpost_id"`
		PoolID    string `json:"pool_id"` // the older name of outpost_id
	} `json:"metadata"`
	Spec struct {
		Name     string `json:"name"`
		Platform string `json:"platform"`
	} `json:"spec"`
}

// Outposts lists the queues of the account. The reference documents the
// collection at /outposts below the prefix; in the field it answers at the
// prefix itself, so that is tried first.
func (c *Client) Outposts(ctx context.Context) ([]Outpost, error) {
	found, err := c.outpostsAt(ctx, prefix)
	refused := (*RefusedError)(nil)
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed) {
		return c.outpostsAt(ctx, prefix+"/outposts")
	}
	return found, err
}

func (c *Client) outpostsAt(ctx context.Context, path string) ([]Outpost, error) {
	const op = "list the outposts"
	var found []Outpost
	at := map[string]int{}
	add := func(row json.RawMessage) {
		outpost, err := decodeOutpost(row)
		if err != nil {
			return // one outpost that cannot be read does not hide the others
		}
		if i, again := at[outpost.ID]; again {
			found[i] = outpost
		} else {
			at[outpost.ID] = len(found)
			found = append(found, outpost)
		}
	}
	if _, err := c.pages(ctx, call{op: op, path: path, query: url.Values{"first": {pageSize}}}, "after", add); err != nil {
		return nil, err
	}
	return found, nil
}

func decodeOutpost(raw []byte) (Outpost, error) {
	var wire wireOutpost
	if err := json.Unmarshal(raw, &wire); err != nil {
		return Outpost{}, malformed("%s", brief(err.Error()))
	}
	id := cmp.Or(wire.Metadata.OutpostID, wire.Metadata.PoolID)
	if id == "" {
		return Outpost{}, malformed("metadata.outpost_id is missing")
	}
	return Outpost{ID: id, Name: wire.Spec.Name, Platform: cmp.Or(wire.Spec.Platform, PlatformLinux)}, nil
}
