package outposts

import (
	"context"
	"fmt"
	"net/http"
)

// Release gives a claim back. ErrClaimLost means that there was nothing of ours
// to give back: the clean-up is finished all the same.
func (c *Client) Release(ctx context.Context, sessionID, acceptorID string) error {
	op, err := sessionOp("release", sessionID)
	if err != nil {
		return err
	}
	got, err := c.do(ctx, call{
		op: op, method: http.MethodPost, path: sessionPath(sessionID, "/release"),
		body: acceptorBody{acceptorID}, maxBytes: answerBytes,
	})
	if err != nil {
		return err
	}
	switch got.status {
	case http.StatusOK, http.StatusNoContent:
		return nil
	case http.StatusNotFound, http.StatusConflict, http.StatusGone:
		return fmt.Errorf("%s (%d%s): %w", op, got.status, got.detail(), ErrClaimLost)
	default:
		return got.refusal(op)
	}
}
