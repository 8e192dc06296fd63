package outposts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const longestRetryAfter = 15 * time.Minute

// call is one request to the service.
type call struct {
	op       string // names the call in errors: "claim session devin-1"
	method   string
	path     string // escaped
	query    url.Values
	body     any   // marshalled when not nil
	maxBytes int64 // of the answer
}

// answer is what came back, whatever its status.
type answer struct {
	status int
	body   []byte
	header http.Header
	token  Secret // the token it was asked with
}

// do makes the call. Its errors are final for the caller: ErrUnauthorized,
// *RateLimitedError, *TemporaryError, or a request that cannot be built.
func (c *Client) do(ctx context.Context, call call) (answer, error) {
	return c.authorized(ctx, call.op, func(token Secret) (answer, error) { return c.exchange(ctx, call, token) })
}

// authorized tries with the account token, and once more with a reloaded one
// when the first is refused.
func (c *Client) authorized(ctx context.Context, op string, try func(Secret) (answer, error)) (answer, error) {
	token, err := c.token(ctx, "")
	if err != nil {
		return answer{}, fmt.Errorf("%s: read the account token: %w", op, err)
	}
	got, err := try(token)
	if err != nil || !refused(got.status) {
		return got, err
	}
	fresh, err := c.token(ctx, token)
	if err != nil {
		return answer{}, fmt.Errorf("%s: reload the account token after it was refused: %w", op, err)
	}
	if fresh != token {
		if got, err = try(fresh); err != nil || !refused(got.status) {
			return got, err
		}
	}
	return answer{}, fmt.Errorf("%s (%d%s): %w", op, got.status, got.detail(), ErrUnauthorized)
}

func refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

func (c *Client) exchange(ctx context.Context, call call, token Secret) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, call, token)
	if err != nil {
		return answer{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, &TemporaryError{Op: call.op, Err: withoutURL(err)}
	}
	defer func() { _ = response.Body.Close() }()
	return c.read(call, response, token)
}

// read reads an answer to its end, and turns the statuses that mean the same
// for every operation into errors.
func (c *Client) read(call call, response *http.Response, token Secret) (answer, error) {
	limit := call.maxBytes
	if response.StatusCode >= 300 {
		limit = errorBytes
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return answer{}, &TemporaryError{Op: call.op, Err: fmt.Errorf("the answer broke off: %w", withoutURL(err))}
	}
	if int64(len(body)) > limit && response.StatusCode < 300 {
		return answer{}, fmt.Errorf("%s: %w: more than %d bytes", call.op, ErrMalformed, limit)
	}
	got := answer{status: response.StatusCode, body: body, header: response.Header, token: token}
	switch {
	case got.status == http.StatusTooManyRequests:
		return answer{}, &RateLimitedError{Op: call.op, RetryAfter: c.retryAfter(got.header)}
	case got.status >= 500, got.status == http.StatusRequestTimeout, got.status == http.StatusTooEarly:
		return answer{}, &TemporaryError{Op: call.op, Status: got.status, Err: errors.New(got.cause())}
	}
	return got, nil
}

func (c *Client) request(ctx context.Context, call call, token Secret) (*http.Request, error) {
	var body io.Reader
	if call.body != nil {
		text, err := json.Marshal(call.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.op, err)
		}
		body = bytes.NewReader(text)
	}
	target := c.base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s: the API address is no URL: check it: %w", call.op, withoutURL(err))
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token.Reveal()))
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// withoutURL drops the URL that net/http puts in front of every error: it may
// hold credentials, and says nothing that the operation's name does not.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// refusal is the error for a status that the operation has no name for.
func (a answer) refusal(op string) error {
	return &RefusedError{Op: op, Status: a.status, Detail: a.detail()}
}

func (a answer) cause() string {
	if text := strings.TrimPrefix(a.detail(), ": "); text != "" {
		return text
	}
	return "no reason given"
}

var accountToken = regexp.MustCompile(`cog_[A-Za-z0-9_\-]+`)

// detail quotes what the service said about an error, preceded by ": ": at
// most 200 characters, and no token. It is empty when the service said nothing.
func (a answer) detail() string {
	var body struct {
		Detail json.RawMessage `json:"detail"`
	}
	text := ""
	if json.Unmarshal(a.body, &body) == nil {
		if json.Unmarshal(body.Detail, &text) != nil {
			text = string(body.Detail)
		}
	} else if !bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("<")) { // no HTML pages
		text = string(a.body)
	}
	if token := strings.TrimSpace(a.token.Reveal()); token != "" {
		text = strings.ReplaceAll(text, token, redacted)
	}
	text = accountToken.ReplaceAllString(text, redacted)
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return ": " + shorten(text, 200)
}

// retryAfter reads Retry-After: seconds, or a date, which is measured against
// the answer's own Date when it has one, so that a wrong clock here does no harm.
func (c *Client) retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	var wait time.Duration
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds >= longestRetryAfter.Seconds() {
			wait = longestRetryAfter
		} else if seconds > 0 { // not so for NaN
			wait = time.Duration(seconds * float64(time.Second))
		}
	} else if until, err := http.ParseTime(text); err == nil {
		from, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			from = c.now()
		}
		wait = until.Sub(from)
	}
	return min(max(wait, 0), longestRetryAfter)
}
