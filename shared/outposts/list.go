package outposts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

const (
	pageSize = "200" // the most the service gives
	// At 200 rows each this is a queue of 100,000 sessions; more pages than
	// that mean a service that does not come to an end.
	mostPages = 500
)

// ListQuery narrows a list. An empty field does not narrow.
type ListQuery struct {
	Outpost    string
	Phase      Phase
	AcceptorID string
}

type page struct {
	Items       *[]json.RawMessage `json:"items"`
	HasNextPage *bool              `json:"has_next_page"`
	Cursor      string             `json:"cursor"`     // of session lists
	EndCursor   string             `json:"end_cursor"` // of outpost lists
}

// List reads all pages of the queue. Any page that fails fails the list.
func (c *Client) List(ctx context.Context, query ListQuery) (Listing, error) {
	values := url.Values{"first": {pageSize}}
	for key, value := range map[string]string{"outpost": query.Outpost, "phase": query.Phase, "acceptor_id": query.AcceptorID} {
		if value != "" {
			values.Set(key, value)
		}
	}
	op := "list the sessions"
	if query.Outpost != "" {
		op += " of outpost " + brief(query.Outpost)
	}
	read := listing{rows: map[string]Entry{}}
	cursor, err := c.pages(ctx, call{op: op, path: prefix + "/devins", query: values}, "cursor", read.add)
	if err != nil {
		return Listing{}, err
	}
	return read.sorted(cursor), nil
}

// pages reads page after page, gives each row to add, and returns the last
// page's cursor. param names the query parameter that carries the cursor.
func (c *Client) pages(ctx context.Context, call call, param string, add func(json.RawMessage)) (string, error) {
	call.method, call.maxBytes = http.MethodGet, listBytes
	seen := map[string]bool{}
	for range mostPages {
		got, err := c.do(ctx, call)
		if err != nil {
			return "", err
		}
		next, err := got.page(call.op)
		if err != nil {
			return "", err
		}
		for _, row := range *next.Items {
			add(row)
		}
		cursor := cmp.Or(next.Cursor, next.EndCursor)
		if !*next.HasNextPage {
			return cursor, nil
		}
		if cursor == "" || seen[cursor] {
			return "", fmt.Errorf("%s: %w: more pages are promised but the cursor %s leads to no new one", call.op, ErrMalformed, brief(cursor))
		}
		seen[cursor] = true
		call.query.Set(param, cursor)
	}
	return "", fmt.Errorf("%s: %w: no end after %d pages", call.op, ErrMalformed, mostPages)
}

func (a answer) page(op string) (page, error) {
	var next page
	if a.status != http.StatusOK {
		return next, a.refusal(op)
	}
	if err := json.Unmarshal(a.body, &next); err != nil {
		return next, fmt.Errorf("%s: %w: %s: check the API address", op, ErrMalformed, brief(err.Error()))
	}
	if next.Items == nil || next.HasNextPage == nil {
		return next, fmt.Errorf("%s: %w: a page without items or has_next_page: check the API address", op, ErrMalformed)
	}
	return next, nil
}

// listing joins rows by session id as they arrive.
type listing struct {
	rows    map[string]Entry
	skipped []Skip
}

func (l *listing) add(row json.RawMessage) {
	entry, err := decodeEntry(row)
	if err != nil {
		// The later row wins, and this one says that we do not know.
		delete(l.rows, entry.SessionID)
		l.skipped = append(l.skipped, Skip{SessionID: entry.SessionID, Reason: shorten(err.Error(), 300)})
		return
	}
	l.rows[entry.SessionID] = entry
}

func (l *listing) sorted(cursor string) Listing {
	entries := make([]Entry, 0, len(l.rows))
	for _, entry := range l.rows {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return Listing{Entries: entries, Skipped: l.skipped, Cursor: cursor}
}
