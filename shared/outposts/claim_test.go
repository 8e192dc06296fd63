package outposts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

func claim(t *testing.T, w world, sessionID, acceptorID string) outposts.Claim {
	t.Helper()
	got, err := w.client.Claim(t.Context(), sessionID, acceptorID)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestClaimedEntryComesWithItsCredentials(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	queued := w.Enqueue(outpoststest.EnqueueOptions{
		SessionID: "devin-1", Platform: "linux", RemoteSHA: "412f0e9b19",
		NetworkPolicy: []byte(`{"enabled": true, "allow": [{"hostname": "*.example.com"}]}`),
	})
	w.clock.advance(10 * time.Second)
	got := claim(t, w, "devin-1", "us")
	want := outposts.Claim{
		Entry: outposts.Entry{
			SessionID: "devin-1", OutpostID: outpoststest.DefaultOutpost, CreatedAt: queued.EnqueuedAt, UpdatedAt: w.clock.now(),
			Kind: outposts.KindNew, Platform: outposts.PlatformLinux, RemoteSHA: "412f0e9b19",
			NetworkPolicy: &outposts.NetworkPolicy{Enabled: true, Allow: []outposts.NetworkRule{{Hostname: "*.example.com"}}},
			Phase:         outposts.PhaseClaimed, AcceptorID: "us", Status: outposts.StatusPending,
			ClaimDeadline: w.clock.now().Add(5 * time.Minute),
		},
		ConnectToken: got.ConnectToken, GatewayURL: w.GatewayURL(), Life: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(got.ConnectToken.Reveal(), "ct_") {
		t.Error("the claim has no connect token")
	}
	entry, err := w.client.Get(t.Context(), "devin-1")
	if diff := cmp.Diff(want.Entry, entry); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestSecondAcceptorLosesAndTheFirstRenews(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	first := claim(t, w, "devin-1", "us")
	if _, err := w.client.Claim(t.Context(), "devin-1", "them"); !errors.Is(err, outposts.ErrClaimLost) {
		t.Errorf("the second acceptor: %v", err)
	}
	w.clock.advance(time.Minute)
	again := claim(t, w, "devin-1", "us")
	if again.ConnectToken == first.ConnectToken || !again.ClaimDeadline.Equal(first.ClaimDeadline.Add(time.Minute)) {
		t.Error("the renewal brought no new token, or no new deadline")
	}
	if now := w.Session("devin-1"); now.Claims != 1 || now.Renewals != 1 {
		t.Errorf("%d claims, %d renewals", now.Claims, now.Renewals)
	}
}

func TestOutcomesOfAReleaseAndOfAbsentSessions(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	for range 2 { // it answers 204 and 200 in turn
		claim(t, w, "devin-1", "us")
		if err := w.client.Release(t.Context(), "devin-1", "them"); !errors.Is(err, outposts.ErrClaimLost) {
			t.Errorf("release of somebody else's claim: %v", err)
		}
		if err := w.client.Release(t.Context(), "devin-1", "us"); err != nil {
			t.Errorf("release of our claim: %v", err)
		}
	}
	if err := w.client.Release(t.Context(), "devin-1", "us"); !errors.Is(err, outposts.ErrClaimLost) {
		t.Errorf("release again: %v", err)
	}
	if err := w.client.Release(t.Context(), "devin-2", "us"); !errors.Is(err, outposts.ErrClaimLost) {
		t.Errorf("release of an absent session: %v", err)
	}
	if _, err := w.client.Get(t.Context(), "devin-2"); !errors.Is(err, outposts.ErrNotFound) {
		t.Errorf("get of an absent session: %v", err)
	}
	if _, err := w.client.Claim(t.Context(), "devin-2", "us"); !errors.Is(err, outposts.ErrNotFound) {
		t.Errorf("claim of an absent session: %v", err)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpRelease, Kind: outpoststest.FaultStatus, Status: http.StatusGone, Times: 1})
	if err := w.client.Release(t.Context(), "devin-1", "us"); !errors.Is(err, outposts.ErrClaimLost) {
		t.Errorf("release answered with 410: %v", err)
	}
}

func TestSessionIDStaysOneSegmentOfThePath(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	for _, id := range []string{"devin-../../etc", "..", ".", "a/b?c#d%2Fe f", "devin-ü", strings.Repeat("x", 300)} {
		w.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
		if got := claim(t, w, id, "us"); got.SessionID != id {
			t.Errorf("claimed %q instead of %q", got.SessionID, id)
		}
		if entry, err := w.client.Get(t.Context(), id); err != nil || entry.SessionID != id {
			t.Errorf("got %q instead of %q: %v", entry.SessionID, id, err)
		}
		if err := w.client.Release(t.Context(), id, "us"); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.client.Get(t.Context(), ""); err == nil {
		t.Error("an empty session id was accepted")
	}
}

func TestRefusedTokenIsReloadedOnce(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.SetToken("cog_new")
	for _, test := range []struct {
		name, fresh string
		want        error
		asked       []string // the rejected tokens the source was called with
		calls       int
	}{
		{"the source has a newer one", "cog_new", nil, []string{"", "cog_old"}, 2},
		{"the newer one is refused too", "cog_other", outposts.ErrUnauthorized, []string{"", "cog_old"}, 2},
		{"the source has no other", "cog_old", outposts.ErrUnauthorized, []string{"", "cog_old"}, 1},
	} {
		var asked []string
		client := outposts.New(outposts.Options{BaseURL: w.URL(), Now: w.clock.now, Token: func(_ context.Context, rejected outposts.Secret) (outposts.Secret, error) {
			asked = append(asked, rejected.Reveal())
			if rejected != "" {
				return outposts.Secret(test.fresh), nil
			}
			return "cog_old", nil
		}})
		before := w.Calls()[outpoststest.OpGet]
		_, err := client.Get(t.Context(), "devin-1")
		if !errors.Is(err, test.want) || err != nil && strings.Contains(err.Error(), "cog_") {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.asked, asked); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if calls := w.Calls()[outpoststest.OpGet] - before; calls != test.calls {
			t.Errorf("%s: %d calls", test.name, calls)
		}
	}
}

func TestTokenThatCannotBeReadIsTheError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such secret")
	client := outposts.New(outposts.Options{Now: newClock().now, Token: func(context.Context, outposts.Secret) (outposts.Secret, error) { return "", broken }})
	if _, err := client.Get(t.Context(), "devin-1"); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestRetryAfterIsReadAsSecondsAndAsADateAndBounded(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	for _, test := range []struct {
		header string
		want   time.Duration
	}{
		{"7", 7 * time.Second},
		{"1.5", 1500 * time.Millisecond},
		{"", 0},
		{"-3", 0},
		{"soon", 0},
		{"1e30", 15 * time.Minute},
		{"NaN", 0},
	} {
		w.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: test.header, Times: 1})
		_, err := w.client.Claim(t.Context(), "devin-1", "us")
		var limited *outposts.RateLimitedError
		if !errors.As(err, &limited) || limited.RetryAfter != test.want {
			t.Errorf("%q: %v", test.header, err)
		}
	}
	// The date is measured by the service's clock, which is a year ahead of ours.
	service := newClock().now().Add(365 * 24 * time.Hour)
	client := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", service.Format(http.TimeFormat))
		w.Header().Set("Retry-After", service.Add(9*time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := client.Claim(t.Context(), "devin-1", "us")
	var limited *outposts.RateLimitedError
	if !errors.As(err, &limited) || limited.RetryAfter != 9*time.Second {
		t.Errorf("a date: %v", err)
	}
}

func TestLostAnswerIsTemporaryWhetherOrNotTheClaimWasGranted(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	for _, test := range []struct {
		kind   outpoststest.FaultKind
		holder string
	}{{outpoststest.FaultHangUp, ""}, {outpoststest.FaultDrop, "us"}} {
		w.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: test.kind, Times: 1})
		_, err := w.client.Claim(t.Context(), "devin-1", "us")
		var temporary *outposts.TemporaryError
		if !errors.As(err, &temporary) {
			t.Errorf("%s: %v", test.kind, err)
		}
		if now := w.Session("devin-1"); now.AcceptorID != test.holder {
			t.Errorf("%s: held by %q", test.kind, now.AcceptorID)
		}
	}
}

func TestOneOfManyAcceptorsWins(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	outcomes := make(chan error)
	for i := range 16 {
		go func() {
			_, err := w.client.Claim(t.Context(), "devin-1", fmt.Sprintf("acceptor-%d", i))
			outcomes <- err
		}()
	}
	won := 0
	for range 16 {
		if err := <-outcomes; err == nil {
			won++
		} else if !errors.Is(err, outposts.ErrClaimLost) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d acceptors won", won)
	}
}

func TestSlowAnswerIsGivenUpAfterTheTimeout(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultDelay, Delay: time.Hour})
	client := outposts.New(outposts.Options{BaseURL: w.URL(), Token: fixed(w.Token()), Now: w.clock.now, Timeout: 50 * time.Millisecond})
	_, err := client.Get(t.Context(), "devin-1")
	var temporary *outposts.TemporaryError
	if !errors.As(err, &temporary) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestErrorQuotesTheServiceBrieflyAndWithoutTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ body, want string }{
		{`{"detail": "token cog_t is odd, so is cog_other-1"}`, "claim session s: the fleet API refused the request (418: token [redacted] is odd, so is [redacted])"},
		{`{"detail": [{"loc": ["body"], "msg": "wrong"}]}`, `claim session s: the fleet API refused the request (418: [{"loc": ["body"], "msg": "wrong"}])`},
		{"plain\ntext", "claim session s: the fleet API refused the request (418: plain text)"},
		{"<html>long page</html>", "claim session s: the fleet API refused the request (418)"},
		{`{"detail": "` + strings.Repeat("ü", 500) + `"}`, "claim session s: the fleet API refused the request (418: " + strings.Repeat("ü", 200) + "…)"},
		{strings.Repeat("x", 2<<20), "claim session s: the fleet API refused the request (418: " + strings.Repeat("x", 200) + "…)"},
	} {
		client := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprint(w, test.body)
		})
		_, err := client.Claim(t.Context(), "s", "us")
		if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestClaimWithoutCredentialsOrOfAnotherSessionIsForTheCallerToJudge(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultBare, Times: 1})
	if got := claim(t, w, "devin-1", "us"); got.ConnectToken != "" || got.GatewayURL != "" {
		t.Errorf("%+v", got)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultForeign, Times: 1})
	if got := claim(t, w, "devin-1", "us"); got.SessionID != "devin-somebody-elses" {
		t.Errorf("%+v", got)
	}
	w.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultMalformed, Times: 1})
	if _, err := w.client.Get(t.Context(), "devin-1"); !errors.Is(err, outposts.ErrMalformed) {
		t.Errorf("an unreadable entry: %v", err)
	}
}

func TestUnreadableDeadlineSpoilsAListedEntryButNotTheOneAskedFor(t *testing.T) {
	t.Parallel()
	for _, deadline := range []string{`"soon"`, `true`, `-5`, `1e300`, `{}`, `[1]`} {
		entry := fmt.Sprintf(`{"metadata": {"session_id": "devin-1", "outpost_id": "o"}, "spec": {"kind": "new"},
			"status": {"phase": "claimed", "acceptor_id": "us", "claim_deadline": %s, "session_status": "terminated"}}`, deadline)
		client := server(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/devin-1") {
				_, _ = io.WriteString(w, entry)
			} else {
				_, _ = io.WriteString(w, `{"items": [`+entry+`], "has_next_page": false}`)
			}
		})
		got, err := client.Get(t.Context(), "devin-1")
		want := outposts.Entry{SessionID: "devin-1", OutpostID: "o", Kind: "new", Platform: "linux", Phase: "claimed", AcceptorID: "us", Status: "terminated"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("get, %s: %v %s", deadline, err, diff)
		}
		list, err := client.List(t.Context(), outposts.ListQuery{})
		if err != nil || len(list.Entries) != 0 || len(list.Skipped) != 1 || list.Skipped[0].SessionID != "devin-1" {
			t.Errorf("list, %s: %+v, %v", deadline, list, err)
		}
	}
}
