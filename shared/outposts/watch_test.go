package outposts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

const outpost = outpoststest.DefaultOutpost

// told is what a test looks at in an event.
func told(event outposts.Event) string {
	if event.Err != nil {
		return event.Entry.SessionID + " unreadable"
	}
	return fmt.Sprintf("%s %s deleted=%t", event.Entry.SessionID, event.Entry.Phase, event.Deleted)
}

func TestWatchBringsChangesAfterTheCursorOfTheList(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{StreamLife: 2 * time.Second, KeepAlive: time.Millisecond})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-old"})
	listing, err := w.client.List(t.Context(), outposts.ListQuery{Outpost: outpost})
	if err != nil {
		t.Fatal(err)
	}
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	var got []string
	cursor, err := w.client.Watch(t.Context(), outpost, listing.Cursor, func(event outposts.Event) error {
		got = append(got, told(event))
		switch len(got) {
		case 1:
			claim(t, w, "devin-1", "us")
			return nil
		case 2:
			return w.Vanish("devin-1")
		}
		return nil
	})
	if err != nil { // the stream ended by design
		t.Fatal(err)
	}
	want := []string{"devin-1 pending deleted=false", "devin-1 claimed deleted=false", "devin-1 pending deleted=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("enough")
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-2"})
	again, err := w.client.Watch(t.Context(), outpost, cursor, func(event outposts.Event) error {
		if got := told(event); got != "devin-2 pending deleted=false" {
			t.Errorf("after the reconnect: %s", got)
		}
		return stop
	})
	if !errors.Is(err, stop) || again != cursor {
		t.Errorf("a change that was not taken moved the cursor from %q to %q: %v", cursor, again, err)
	}
}

func TestUnreadableEventIsHandedOnAsSuch(t *testing.T) {
	t.Parallel()
	client := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		entry := `{"metadata": {"session_id": "%s", "outpost_id": "o"}, "spec": {"kind": "new"}, "status": {"phase": "%s", "session_status": "pending"}}`
		for i, event := range []string{
			`{"type": "MODIFIED", "cursor": "1", "object": ` + fmt.Sprintf(entry, "devin-1", "limbo") + `}`,
			`{"type": "EXPLODED", "cursor": "2", "object": ` + fmt.Sprintf(entry, "devin-2", "pending") + `}`,
			`{"type": "MODIFIED", "cursor": "3"}`,
			`not JSON`,
			`{"type": "MODIFIED", "cursor": "5", "object": ` + fmt.Sprintf(entry, "devin-5", "pending") + `}`,
		} {
			_, _ = fmt.Fprintf(w, ": comment %d\n\ndata: %s\n\n", i, event)
		}
	})
	var got []string
	cursor, err := client.Watch(t.Context(), outpost, "", func(event outposts.Event) error {
		got = append(got, told(event))
		return nil
	})
	want := []string{"devin-1 unreadable", "devin-2 unreadable", " unreadable", " unreadable", "devin-5 pending deleted=false"}
	if diff := cmp.Diff(want, got); err != nil || cursor != "5" || diff != "" {
		t.Errorf("cursor %q, error %v %s", cursor, err, diff)
	}
}

func TestSilentWatchLivesOnKeepAlivesAndDiesWithoutThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		keepAlive time.Duration
		broken    bool
	}{{"with keep-alives", 20 * time.Millisecond, false}, {"without", time.Hour, true}} {
		w := start(t, outpoststest.Options{StreamLife: time.Second, KeepAlive: test.keepAlive})
		w.Fault(outpoststest.Fault{Op: outpoststest.OpWatch, Kind: outpoststest.FaultSilent})
		w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
		client := outposts.New(outposts.Options{BaseURL: w.URL(), Token: fixed(w.Token()), Now: w.clock.now, Silence: 500 * time.Millisecond})
		_, err := client.Watch(t.Context(), outpost, "", func(event outposts.Event) error { return fmt.Errorf("an event: %s", told(event)) })
		var temporary *outposts.TemporaryError
		if errors.As(err, &temporary) != test.broken || err != nil && !test.broken {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestWatchThatCannotBeginSaysWhy(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	watch := func(w world) error {
		_, err := w.client.Watch(t.Context(), outpost, "", func(outposts.Event) error { return nil })
		return err
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpWatch, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: "7", Times: 1})
	var limited *outposts.RateLimitedError
	if err := watch(w); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second {
		t.Errorf("rate-limited: %v", err)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpWatch, Kind: outpoststest.FaultStatus, Status: 404, Times: 1})
	if err := watch(w); !errors.Is(err, outposts.ErrNotFound) {
		t.Errorf("not found: %v", err)
	}
	w.SetToken("cog_other")
	if err := watch(w); !errors.Is(err, outposts.ErrUnauthorized) {
		t.Errorf("unauthorised: %v", err)
	}
	client := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	if _, err := client.Watch(t.Context(), outpost, "", nil); !errors.Is(err, outposts.ErrMalformed) || !strings.Contains(err.Error(), "text/html") {
		t.Errorf("a page: %v", err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	ctx, cancel := context.WithCancel(t.Context())
	cursor, err := w.client.Watch(ctx, outpost, "", func(outposts.Event) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || cursor == "" {
		t.Errorf("cursor %q, error %v", cursor, err)
	}
}
