package outposts

import (
	"context"
	"fmt"
	"net/http"
)

// Get reads one session's entry. It returns ErrNotFound when the queue has
// none, and an error that wraps ErrMalformed when the entry cannot be read. A
// claim deadline that cannot be read, unlike in a list, does not spoil the
// entry: it is zero.
func (c *Client) Get(ctx context.Context, sessionID string) (Entry, error) {
	op, err := sessionOp("get", sessionID)
	if err != nil {
		return Entry{}, err
	}
	got, err := c.do(ctx, call{op: op, method: http.MethodGet, path: sessionPath(sessionID, ""), maxBytes: answerBytes})
	if err != nil {
		return Entry{}, err
	}
	switch got.status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return Entry{}, fmt.Errorf("%s (%d%s): %w", op, got.status, got.detail(), ErrNotFound)
	default:
		return Entry{}, got.refusal(op)
	}
	entry, _, err := decodeStatus(got.body)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w", op, err)
	}
	return entry, nil
}

func sessionOp(verb, sessionID string) (string, error) {
	if sessionID == "" {
		return "", fmt.Errorf("%s session: the session id is empty", verb)
	}
	return verb + " session " + brief(sessionID), nil
}
