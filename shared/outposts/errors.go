package outposts

import (
	"errors"
	"fmt"
	"time"
)

// Outcomes of a call, for errors.Is.
var (
	// ErrClaimLost means that the claim is somebody else's, or no longer ours.
	// It is a normal outcome of competing for a session.
	ErrClaimLost = errors.New("the claim is not ours")

	// ErrNotFound means that the queue has no such session. Sleeping sessions
	// leave the queue after a while, so it does not prove the end of one.
	ErrNotFound = errors.New("not in the queue")

	// ErrUnauthorized means that the account token was refused twice, the
	// second time after its source had been asked to reload it.
	ErrUnauthorized = errors.New("the account token was refused: check that it is current and has the scope account.outposts.machine")

	// ErrMalformed means that the service answered something we cannot read.
	// A claim that ends so may still have been granted: release it.
	ErrMalformed = errors.New("unreadable answer")
)

// RateLimitedError means that the service asks to slow down (429).
type RateLimitedError struct {
	Op string // the call, with its session
	// RetryAfter is how long the service wants to be left alone, at most
	// 15 minutes; zero when it did not say.
	RetryAfter time.Duration
}

func (e *RateLimitedError) Error() string {
	if e.RetryAfter <= 0 {
		return e.Op + ": too many requests (429): try again later"
	}
	return fmt.Sprintf("%s: too many requests (429): try again in %s", e.Op, e.RetryAfter)
}

// TemporaryError means that the call may succeed when it is repeated: a time-out,
// a broken connection, or a failure of the service. The call may have taken
// effect nevertheless.
type TemporaryError struct {
	Op     string // the call, with its session
	Status int    // the HTTP status; zero when there was no answer
	Err    error  // the cause; never nil
}

func (e *TemporaryError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: no answer from the fleet API: %v: try again", e.Op, e.Err)
	}
	return fmt.Sprintf("%s: the fleet API failed (%d): %v: try again", e.Op, e.Status, e.Err)
}

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *TemporaryError) Unwrap() error { return e.Err }

// RefusedError means that the service understood the request and said no, in a
// way that none of the errors above names. Repeating it will not help.
type RefusedError struct {
	Op     string // the call, with its session
	Status int    // the HTTP status, 300 to 499
	Detail string // what the service said, after ": ": at most 200 characters, no token; may be empty
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s: the fleet API refused the request (%d%s)", e.Op, e.Status, e.Detail)
	if e.Status < 400 || e.Status == 404 || e.Status == 405 {
		text += ": check the API address and the ids"
	}
	return text
}

// Unwrap makes a 404 an ErrNotFound.
func (e *RefusedError) Unwrap() error {
	if e.Status == 404 {
		return ErrNotFound
	}
	return nil
}
