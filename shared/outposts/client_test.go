package outposts_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

// clock is a time that tests move by hand.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(1781050000 * 1e9)
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

type world struct {
	*outpoststest.Server
	client *outposts.Client
	clock  *clock
}

func start(t *testing.T, options outpoststest.Options) world {
	t.Helper()
	w := world{clock: newClock()}
	options.Now = w.clock.now
	w.Server = outpoststest.New(options)
	t.Cleanup(w.Close)
	w.client = outposts.New(outposts.Options{BaseURL: w.URL(), Token: fixed(w.Token()), Now: w.clock.now})
	return w
}

func fixed(token string) outposts.TokenSource {
	return func(context.Context, outposts.Secret) (outposts.Secret, error) { return outposts.Secret(token), nil }
}

// server answers every request with handler, for what the simulator never says.
func server(t *testing.T, handler http.HandlerFunc) *outposts.Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return outposts.New(outposts.Options{BaseURL: s.URL, Token: fixed("cog_t"), Now: newClock().now})
}

func ids(listing outposts.Listing) []string {
	var found []string
	for _, entry := range listing.Entries {
		found = append(found, entry.SessionID)
	}
	return found
}

func TestListReadsAllPagesAndEachSessionOnce(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	var want []string
	for i := range 450 {
		want = append(want, w.Enqueue(outpoststest.EnqueueOptions{SessionID: fmt.Sprintf("devin-%03d", i)}).ID)
		w.clock.advance(time.Second)
	}
	got, err := w.client.List(t.Context(), outposts.ListQuery{Outpost: outpoststest.DefaultOutpost})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Error(diff)
	}
	if calls := w.Calls()[outpoststest.OpList]; calls != 3 || got.Cursor == "" || got.Skipped != nil {
		t.Errorf("%d pages, cursor %q, skipped %v", calls, got.Cursor, got.Skipped)
	}
}

func TestListNarrowsByPhaseAndAcceptor(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{Outposts: []string{"outpost_env-a", "outpost_env-b"}})
	for _, id := range []string{"devin-1", "devin-2", "devin-3"} {
		w.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
	}
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-4", OutpostID: "outpost_env-b"})
	claim(t, w, "devin-2", "us")
	claim(t, w, "devin-3", "them")
	for _, test := range []struct {
		query outposts.ListQuery
		want  []string
	}{
		{outposts.ListQuery{}, []string{"devin-1", "devin-2", "devin-3", "devin-4"}},
		{outposts.ListQuery{Outpost: "outpost_env-b"}, []string{"devin-4"}},
		{outposts.ListQuery{Outpost: "outpost_env-a", Phase: outposts.PhasePending}, []string{"devin-1"}},
		{outposts.ListQuery{AcceptorID: "us"}, []string{"devin-2"}},
	} {
		got, err := w.client.List(t.Context(), test.query)
		if diff := cmp.Diff(test.want, ids(got)); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", test.query, err, diff)
		}
	}
}

func TestRowsNobodyCanReadAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-good"})
	w.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultMalformed, Times: 1})
	got, err := w.client.List(t.Context(), outposts.ListQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, skip := range got.Skipped {
		skipped = append(skipped, skip.SessionID+": "+skip.Reason)
	}
	want := []string{
		`devin-hologram: unreadable answer: spec.kind is hologram, none of ["new" "resume"]`,
		`: unreadable answer: metadata.session_id is missing`,
		`devin-rubbish: unreadable answer: status.claim_deadline: soon is no point in time`,
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"devin-good"}, ids(got)); diff != "" {
		t.Error(diff)
	}
}

func TestListWhoseSecondPageFailsIsNoList(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	for range 201 {
		w.Enqueue(outpoststest.EnqueueOptions{})
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultStatus, Status: 502, LaterPages: true, Times: 1})
	got, err := w.client.List(t.Context(), outposts.ListQuery{})
	var temporary *outposts.TemporaryError
	if !errors.As(err, &temporary) || temporary.Status != 502 {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(outposts.Listing{}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPagesThatDoNotComeToAnEndAreAnError(t *testing.T) {
	t.Parallel()
	for name, cursor := range map[string]func(n int64) string{
		"a cursor that repeats": func(n int64) string { return []string{"a", "b"}[n%2] },
		"no cursor":             func(int64) string { return "" },
		"ever new cursors":      func(n int64) string { return fmt.Sprint(n) },
	} {
		var n atomic.Int64
		client := server(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"items": [], "has_next_page": true, "cursor": %q}`, cursor(n.Add(1)))
		})
		if _, err := client.List(t.Context(), outposts.ListQuery{}); !errors.Is(err, outposts.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if n.Load() > 500 {
			t.Errorf("%s: %d pages were read", name, n.Load())
		}
	}
}

func TestLaterRowOfASessionWins(t *testing.T) {
	t.Parallel()
	row := `{"metadata": {"session_id": "s", "outpost_id": "o"}, "spec": {"kind": "new"}, "status": {"phase": "%s", "session_status": "pending"}}`
	for _, test := range []struct {
		first, second string
		want          []outposts.Entry
		skipped       int
	}{
		{"pending", "claimed", []outposts.Entry{{SessionID: "s", OutpostID: "o", Kind: "new", Platform: "linux", Phase: "claimed", Status: "pending"}}, 0},
		{"pending", "limbo", nil, 1},
	} {
		client := server(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cursor") == "" {
				_, _ = fmt.Fprintf(w, `{"items": [`+row+`], "has_next_page": true, "cursor": "2"}`, test.first)
			} else {
				_, _ = fmt.Fprintf(w, `{"items": [`+row+`], "has_next_page": false, "cursor": "2"}`, test.second)
			}
		})
		got, err := client.List(t.Context(), outposts.ListQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Entries, cmpopts.EquateEmpty()); diff != "" || len(got.Skipped) != test.skipped || got.Cursor != "2" {
			t.Errorf("%s, then %s: %s skipped %v, cursor %q", test.first, test.second, diff, got.Skipped, got.Cursor)
		}
	}
}

func TestOutpostsAreFoundWhereTheFieldAndWhereTheReferencePutsThem(t *testing.T) {
	t.Parallel()
	var many []string
	var want []outposts.Outpost
	for i := range 201 {
		many = append(many, fmt.Sprintf("outpost_env-%d", i))
		want = append(want, outposts.Outpost{ID: many[i], Name: fmt.Sprint(i), Platform: outposts.PlatformLinux})
	}
	for _, documented := range []bool{false, true} {
		w := start(t, outpoststest.Options{Outposts: many, DocumentedOutposts: documented})
		got, err := w.client.Outposts(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("documented %t: %v %s", documented, err, diff)
		}
	}
}

func TestUnknownOutpostIsNotFound(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	_, err := w.client.List(t.Context(), outposts.ListQuery{Outpost: "outpost_env-nowhere"})
	if !errors.Is(err, outposts.ErrNotFound) || !strings.Contains(err.Error(), "outpost_env-nowhere") {
		t.Error(err)
	}
}

func TestServiceThatIsDownIsATemporaryError(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client := outposts.New(outposts.Options{BaseURL: "http://" + address, Token: fixed("cog_t"), Now: newClock().now})
	_, err = client.Get(t.Context(), "devin-1")
	var temporary *outposts.TemporaryError
	if !errors.As(err, &temporary) || temporary.Status != 0 || !strings.HasPrefix(err.Error(), "get session devin-1: no answer from the fleet API: ") {
		t.Error(err)
	}
}

func TestAnswerOfAnotherKindOfServerIsMalformed(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>Sign in</html>", "{}", `{"items": null, "has_next_page": false}`, `{"items": []}`, "[]", ""} {
		client := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		if _, err := client.List(t.Context(), outposts.ListQuery{}); !errors.Is(err, outposts.ErrMalformed) {
			t.Errorf("list, %q: %v", body, err)
		}
		if _, err := client.Get(t.Context(), "s"); !errors.Is(err, outposts.ErrMalformed) {
			t.Errorf("get, %q: %v", body, err)
		}
	}
}

func TestEndlessAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	client := server(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20+1)))
	})
	if _, err := client.Get(t.Context(), "s"); !errors.Is(err, outposts.ErrMalformed) || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Error(err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	client := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	_, err := client.Get(t.Context(), "s")
	var refused *outposts.RefusedError
	if !errors.As(err, &refused) || refused.Status != http.StatusFound {
		t.Error(err)
	}
}
