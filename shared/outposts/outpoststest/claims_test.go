package outpoststest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

// world is a server with a clock that is moved by hand.
type world struct {
	*outpoststest.Server
	nanos *atomic.Int64
}

func start(t *testing.T, options outpoststest.Options) world {
	t.Helper()
	w := world{nanos: &atomic.Int64{}}
	w.nanos.Store(1781050000 * 1e9)
	options.Now = w.now
	w.Server = outpoststest.New(options)
	t.Cleanup(w.Close)
	return w
}

func (w world) now() time.Time          { return time.Unix(0, w.nanos.Load()).UTC() }
func (w world) advance(d time.Duration) { w.nanos.Add(int64(d)) }

// answer is what the API said, the parts of an entry that the tests look at.
type answer struct {
	code  int
	Items []struct {
		Metadata struct {
			SessionID string `json:"session_id"`
		} `json:"metadata"`
	} `json:"items"`
	Cursor      string `json:"cursor"`
	HasNextPage bool   `json:"has_next_page"`
	Status      struct {
		Phase        string `json:"phase"`
		Deadline     int64  `json:"claim_deadline"`
		ConnectToken string `json:"connect_token"`
		GatewayURL   string `json:"gateway_url"`
	} `json:"status"`
}

func (w world) call(t *testing.T, method, path, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.URL()+"/opbeta/outposts"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.Token())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got := answer{code: response.StatusCode}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 0 && response.StatusCode < 300 {
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return got
}

func (w world) claim(t *testing.T, sessionID, acceptor string) answer {
	t.Helper()
	return w.call(t, "POST", "/devins/"+sessionID+"/claim", fmt.Sprintf(`{"acceptor_id": %q}`, acceptor))
}

func (w world) release(t *testing.T, sessionID, acceptor string) answer {
	t.Helper()
	return w.call(t, "POST", "/devins/"+sessionID+"/release", fmt.Sprintf(`{"acceptor_id": %q}`, acceptor))
}

func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	for _, test := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/devins?first=0", "", 422},
		{"GET", "/devins?first=201", "", 422},
		{"GET", "/devins?pool_id=outpost_env-demo", "", 422},
		{"GET", "/devins?phase=limbo", "", 422},
		{"GET", "/devins?cursor=17", "", 422},
		{"GET", "/devins?outpost=outpost_env-none", "", 404},
		{"GET", "/devins?watch=true&cursor=17", "", 422},
		{"GET", "/devins/devin-2", "", 404},
		{"POST", "/devins/devin-2/claim", `{"acceptor_id": "us"}`, 404},
		{"POST", "/devins/devin-1/claim", `{"acceptor_id": ""}`, 422},
		{"POST", "/devins/devin-1/claim", `{"acceptor_id": "us", "pool_id": "p"}`, 422},
		{"POST", "/devins/devin-1/claim", ``, 422},
		{"POST", "/devins/devin-1/release", `{"acceptor_id": "us"}`, 409},
		{"GET", "/devins/devin-1/claim", "", 405},
		{"GET", "/outposts", "", 404},
	} {
		if got := w.call(t, test.method, test.path, test.body); got.code != test.want {
			t.Errorf("%s %s %s: %d, want %d", test.method, test.path, test.body, got.code, test.want)
		}
	}
	response, err := http.Get(w.URL() + "/opbeta/outposts/devins")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != 401 {
		t.Errorf("without a token: %d, %v", response.StatusCode, err)
	}
}

func TestPageBeginsWithTheRowThatEndedTheOneBefore(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	for i := range 5 {
		w.Enqueue(outpoststest.EnqueueOptions{SessionID: fmt.Sprintf("devin-%d", i)})
	}
	var pages [][]string
	for cursor, more := "", true; more; {
		got := w.call(t, "GET", "/devins?first=3&cursor="+cursor, "")
		var page []string
		for _, item := range got.Items {
			page = append(page, item.Metadata.SessionID)
		}
		pages, cursor, more = append(pages, page), got.Cursor, got.HasNextPage
	}
	want := [][]string{{"devin-0", "devin-1", "devin-2"}, {"devin-2", "devin-3", "devin-4"}}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Error(diff)
	}
}

func TestExpiredClaimGoesBackToTheQueueUnlessTheSessionRuns(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{ClaimLife: time.Minute})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-waits"})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-runs", Running: true})
	for _, id := range []string{"devin-waits", "devin-runs"} {
		if got := w.claim(t, id, "us"); got.code != 201 || got.Status.Deadline != w.now().Add(time.Minute).Unix() || got.Status.GatewayURL != w.GatewayURL() {
			t.Errorf("%s: %+v", id, got)
		}
	}
	w.advance(59 * time.Second)
	if got := w.Session("devin-waits"); got.Phase != "claimed" {
		t.Errorf("before the deadline: %+v", got)
	}
	w.advance(time.Second)
	if got := w.Session("devin-waits"); got.Phase != "pending" || got.AcceptorID != "" {
		t.Errorf("at the deadline: %+v", got)
	}
	if got := w.claim(t, "devin-waits", "them"); got.code != 201 {
		t.Errorf("somebody else claims what expired: %d", got.code)
	}
	if got := w.claim(t, "devin-runs", "them"); got.code != 409 {
		t.Errorf("somebody else claims what runs: %d", got.code)
	}
	if got := w.claim(t, "devin-runs", "us"); got.code != 200 {
		t.Errorf("its holder renews what runs: %d", got.code)
	}
}

func TestReleasedLeftoverWaitsUntilItIsPrunedAndResumedSessionWaitsAnew(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{PruneAfter: time.Hour})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.claim(t, "devin-1", "us")
	if err := w.Suspend("devin-1"); err != nil {
		t.Fatal(err)
	}
	if got := w.release(t, "devin-1", "us"); got.code != 204 {
		t.Errorf("release: %d", got.code)
	}
	if got := w.Session("devin-1"); !got.Queued || got.Phase != "pending" || got.Status != "suspended" {
		t.Errorf("a leftover: %+v", got)
	}
	w.advance(time.Hour)
	if got := w.call(t, "GET", "/devins/devin-1", ""); got.code != 404 {
		t.Errorf("pruned: %d", got.code)
	}
	if err := w.Resume("devin-1"); err != nil {
		t.Fatal(err)
	}
	want := outpoststest.Session{
		ID: "devin-1", OutpostID: outpoststest.DefaultOutpost, Kind: "resume", Queued: true, Phase: "pending", Status: "pending",
		EnqueuedAt: w.now(), Claims: 1, Releases: 1,
	}
	if diff := cmp.Diff(want, w.Session("devin-1")); diff != "" {
		t.Error(diff)
	}
}

func TestStolenClaimIsSomebodyElses(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-2"})
	w.claim(t, "devin-1", "us")
	if err := w.Steal("devin-1", "them"); err != nil {
		t.Fatal(err)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultSteal, SessionID: "devin-2", Times: 1})
	for id, holder := range map[string]string{"devin-1": "them", "devin-2": "somebody-quicker"} {
		if got := w.claim(t, id, "us"); got.code != 409 {
			t.Errorf("claim %s: %d", id, got.code)
		}
		if got := w.Session(id).AcceptorID; got != holder {
			t.Errorf("%s is held by %q", id, got)
		}
	}
}

func TestFaultsHitWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-2"})
	get := func(id string) int { return w.call(t, "GET", "/devins/"+id, "").code }

	w.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus, SessionID: "devin-1", Times: 2})
	w.Fault(outpoststest.Fault{Kind: outpoststest.FaultStatus, Status: 500, SessionID: "devin-1", Times: 1})
	if got := []int{get("devin-2"), get("devin-1"), get("devin-1"), get("devin-1"), get("devin-1")}; !cmp.Equal(got, []int{200, 503, 503, 500, 200}) {
		t.Error(got)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus})
	first, second := get("devin-1"), get("devin-1")
	w.ClearFaults()
	if got := []int{first, second, get("devin-1")}; !cmp.Equal(got, []int{503, 503, 200}) {
		t.Error(got)
	}
	if known := (outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultSteal}).Known(); known {
		t.Error("a get can be stolen")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := w.WaitConnected(ctx, "devin-1"); err == nil {
		t.Error("a session that does not exist has a worker")
	}
}
