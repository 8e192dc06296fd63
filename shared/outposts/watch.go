package outposts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"
)

// Event is a change in the queue. Sessions that are newly queued come as
// changes too.
type Event struct {
	Deleted bool  // the entry has left the queue; Entry is what it was
	Entry   Entry // when Err is not nil: at most its session id
	// Err wraps ErrMalformed when the change could not be read: count it and
	// go on.
	Err    error
	Cursor string // where a watch goes on after this change
}

// errSilent says that a watch brought nothing for too long.
var errSilent = errors.New("it brought nothing for too long")

// Watch follows the changes of an outpost's queue after a cursor, from a list
// or from an earlier watch, and gives each to handle. Without a cursor it starts
// at the beginning of time. It returns the cursor to go on with: that of the
// last change that handle took without an error.
//
// The service ends every stream after at most five minutes; then the error is
// nil. An error of handle ends the watch and is returned as it is. A stream was
// seen in the field to stay open and deliver nothing while sessions waited, so
// a watch only makes a list at a steady beat faster, and never replaces it.
func (c *Client) Watch(ctx context.Context, outpost, cursor string, handle func(Event) error) (string, error) {
	call := call{
		op: "watch outpost " + brief(outpost), method: http.MethodGet, path: prefix + "/devins",
		query: url.Values{"watch": {"true"}, "outpost": {outpost}}, maxBytes: answerBytes,
	}
	if cursor != "" {
		call.query.Set("cursor", cursor)
	}
	got, err := c.authorized(ctx, call.op, func(token Secret) (answer, error) {
		return c.stream(ctx, call, token, func(event Event) error {
			if err := handle(event); err != nil {
				return err
			}
			if event.Cursor != "" {
				cursor = event.Cursor
			}
			return nil
		})
	})
	if err == nil && got.status != http.StatusOK {
		err = got.refusal(call.op)
	}
	return cursor, err
}

// stream opens the stream and follows it to its end. Answers that are no stream
// are returned.
func (c *Client) stream(ctx context.Context, call call, token Secret, handle func(Event) error) (answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	broken := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &TemporaryError{Op: call.op, Err: withoutURL(err)}
	}
	request, err := c.request(ctx, call, token)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", "text/event-stream")
	client := c.http
	client.Timeout = 0 // it would end the stream
	response, err := client.Do(request)
	if err != nil {
		return answer{}, broken(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return c.read(call, response, token)
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return answer{}, fmt.Errorf("%s: %w: a stream is wanted, and %s came: check the API address", call.op, ErrMalformed, brief(kind))
	}
	timer.Stop()
	timer = time.AfterFunc(c.silence, func() { cancel(errSilent) })
	defer timer.Stop()
	source := heard{response.Body, func() { timer.Reset(c.silence) }}
	for event, err := range sse.Read(source, &sse.ReadConfig{MaxEventSize: answerBytes}) {
		if err != nil {
			return answer{}, broken(err)
		}
		if event.Data == "" {
			continue
		}
		if err := handle(decodeEvent(event.Data)); err != nil {
			return answer{}, err
		}
		timer.Reset(c.silence) // what handle took is not the service's silence
	}
	return answer{status: http.StatusOK}, nil
}

// heard reports whenever something was read.
type heard struct {
	io.Reader
	report func()
}

func (h heard) Read(into []byte) (int, error) {
	n, err := h.Reader.Read(into)
	if n > 0 {
		h.report()
	}
	return n, err
}

func decodeEvent(text string) Event {
	var wire struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
		Cursor string          `json:"cursor"`
	}
	if err := json.Unmarshal([]byte(text), &wire); err != nil {
		return Event{Err: malformed("an event: %s", brief(err.Error()))}
	}
	event := Event{Deleted: wire.Type == "DELETED", Cursor: wire.Cursor}
	event.Entry, event.Err = decodeEntry(wire.Object)
	if event.Err == nil && wire.Type != "MODIFIED" && wire.Type != "DELETED" {
		event.Err = malformed("an event's type is %s", brief(wire.Type))
	}
	if event.Err != nil {
		event.Entry = Entry{SessionID: event.Entry.SessionID}
	}
	return event
}
