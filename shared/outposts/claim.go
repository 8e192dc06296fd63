package outposts

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// What the field has seen claims last; assumed when no deadline is given.
	assumedLife = 5 * time.Minute
	longestLife = time.Hour
)

type acceptorBody struct {
	AcceptorID string `json:"acceptor_id"`
}

// Claim claims a session, or renews the claim that acceptorID already holds.
//
// It returns ErrClaimLost when somebody else holds the session and ErrNotFound
// when the queue has none. After a *TemporaryError or ErrMalformed the claim
// may be ours all the same. An answer about another session, acceptor or
// outpost than asked for is returned as it is: the caller judges it.
func (c *Client) Claim(ctx context.Context, sessionID, acceptorID string) (Claim, error) {
	op, err := sessionOp("claim", sessionID)
	if err != nil {
		return Claim{}, err
	}
	before := c.now()
	got, err := c.do(ctx, call{
		op: op, method: http.MethodPost, path: sessionPath(sessionID, "/claim"),
		body: acceptorBody{acceptorID}, maxBytes: answerBytes,
	})
	if err != nil {
		return Claim{}, err
	}
	switch got.status {
	case http.StatusOK, http.StatusCreated:
	case http.StatusConflict:
		return Claim{}, fmt.Errorf("%s (409%s): %w", op, got.detail(), ErrClaimLost)
	case http.StatusNotFound, http.StatusGone:
		return Claim{}, fmt.Errorf("%s (%d%s): %w", op, got.status, got.detail(), ErrNotFound)
	default:
		return Claim{}, got.refusal(op)
	}
	claim, err := decodeClaim(got.body, before)
	if err != nil {
		return Claim{}, fmt.Errorf("%s: %w", op, err)
	}
	return claim, nil
}

// decodeClaim reads a claim's answer. Without a deadline that can be read, the
// claim is ours all the same, and the usual life is assumed.
func decodeClaim(raw []byte, before time.Time) (Claim, error) {
	entry, wire, err := decodeStatus(raw)
	if err != nil {
		return Claim{}, err
	}
	return Claim{
		Entry:        entry,
		ConnectToken: Secret(wire.Status.ConnectToken),
		GatewayURL:   wire.Status.GatewayURL,
		Life:         life(entry, before),
	}, nil
}

// life says how long a claim lasts, counted from before the call. The distance
// from updated_at to the deadline is measured by the service's clock alone, so
// a wrong clock here cannot stretch it; the distance from our own clock can
// only shorten it.
func life(entry Entry, before time.Time) time.Duration {
	if entry.ClaimDeadline.IsZero() {
		return assumedLife
	}
	shortest := time.Duration(0)
	consider := func(from time.Time) {
		if left := entry.ClaimDeadline.Sub(from); left > 0 && (shortest == 0 || left < shortest) {
			shortest = left
		}
	}
	if !entry.UpdatedAt.IsZero() {
		consider(entry.UpdatedAt)
	}
	consider(before)
	if shortest == 0 {
		return assumedLife
	}
	return min(shortest, longestLife)
}
