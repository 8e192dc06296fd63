package outposts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const whole = `{
  "metadata": {"session_id": "devin-1", "outpost_id": "outpost_env-1", "created_at": 1781050000, "updated_at": 1781050100},
  "spec": {"kind": "resume", "platform": "linux", "remote_binary_sha": "412f0e9b19", "color": "blue",
           "network_policy": {"enabled": true, "allow": [{"hostname": "*.example.com"}, {"ipv4": "10.0.0.0/8"}, {"ipv6": "::1"}]}},
  "status": {"phase": "claimed", "acceptor_id": "a", "claim_deadline": 1781050400, "session_status": "running"}
}`

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

func TestWholeEntryIsRead(t *testing.T) {
	t.Parallel()
	got, err := decodeEntry([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{
		SessionID: "devin-1", OutpostID: "outpost_env-1", CreatedAt: at(1781050000), UpdatedAt: at(1781050100),
		Kind: KindResume, Platform: PlatformLinux, RemoteSHA: "412f0e9b19",
		NetworkPolicy: &NetworkPolicy{Enabled: true, Allow: []NetworkRule{{Hostname: "*.example.com"}, {IPv4: "10.0.0.0/8"}, {IPv6: "::1"}}},
		Phase:         PhaseClaimed, AcceptorID: "a", Status: StatusRunning, ClaimDeadline: at(1781050400),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBareEntryWithItsOlderOutpostNameIsRead(t *testing.T) {
	t.Parallel()
	got, err := decodeEntry([]byte(`{"metadata": {"session_id": "s", "pool_id": "p"},
		"spec": {"kind": "new", "platform": null, "remote_binary_sha": null},
		"status": {"phase": "pending", "acceptor_id": null, "claim_deadline": null, "session_status": "pending"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{SessionID: "s", OutpostID: "p", Kind: KindNew, Platform: PlatformLinux, Phase: PhasePending, Status: StatusPending}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutpostIDWinsOverPoolID(t *testing.T) {
	t.Parallel()
	got, err := decodeEntry([]byte(strings.Replace(whole, `"outpost_id"`, `"pool_id": "old", "outpost_id"`, 1)))
	if err != nil || got.OutpostID != "outpost_env-1" {
		t.Errorf("outpost %q, error %v", got.OutpostID, err)
	}
}

func TestUnreadableEntryNamesItsFieldAndItsSession(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ old, new, field string }{
		{`"kind": "resume"`, `"kind": "hologram"`, "spec.kind is hologram"},
		{`"kind": "resume"`, `"kind": 7`, "spec.kind is a number"},
		{`"platform": "linux"`, `"platform": "beos"`, "spec.platform"},
		{`"phase": "claimed"`, `"phase": "limbo"`, "status.phase"},
		{`"session_status": "running"`, `"session_status": "dreaming"`, "status.session_status"},
		{`, "session_status": "running"`, ``, "status.session_status"},
		{`"412f0e9b19"`, `"../../etc"`, "spec.remote_binary_sha"},
		{`"412f0e9b19"`, `"412f0e"`, "spec.remote_binary_sha"},
		{`1781050400`, `"soon"`, "status.claim_deadline: soon is no point in time"},
		{`1781050400`, `true`, "status.claim_deadline"},
		{`1781050400`, `-5`, "status.claim_deadline"},
		{`1781050400`, `1e300`, "status.claim_deadline"},
		{`1781050000`, `{}`, "metadata.created_at"},
		{`1781050100`, `[1]`, "metadata.updated_at"},
		{`"outpost_id": "outpost_env-1", `, ``, "metadata.outpost_id is missing"},
	} {
		text := strings.Replace(whole, test.old, test.new, 1)
		got, err := decodeEntry([]byte(text))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), test.field) || got.SessionID != "devin-1" {
			t.Errorf("%s → %s: session %q, error %v", test.old, test.new, got.SessionID, err)
		}
	}
	for _, text := range []string{``, `null`, `7`, `[]`, `{}`, `{"metadata": null}`, `{"metadata": {"session_id": ""}}`, `{"metadata": {"session_id": 5}}`, whole[:80]} {
		if got, err := decodeEntry([]byte(text)); !errors.Is(err, ErrMalformed) || got.SessionID != "" {
			t.Errorf("%q: session %q, error %v", text, got.SessionID, err)
		}
	}
}

func TestInstantIsReadInEveryFormSeenInTheField(t *testing.T) {
	t.Parallel()
	want := at(1781050400)
	for _, text := range []string{
		`1781050400`, `1781050400.0`, `1.7810504e9`, `1781050400000`, `"1781050400"`, `" 1781050400 "`, `"1781050400000"`,
		`"2026-06-10T00:13:20Z"`, `"2026-06-10T02:13:20+02:00"`, `"2026-06-10T00:13:20.000Z"`, `"2026-06-10T00:13:20"`,
		`"2026-06-10 00:13:20"`, `"2026-06-10 00:13:20+00:00"`, `"2026-06-10T00:13:20+0000"`,
	} {
		if got, err := instant(json.RawMessage(text)); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := instant(json.RawMessage(`1781050400.25`)); err != nil || !got.Equal(want.Add(250*time.Millisecond)) {
		t.Errorf("a quarter of a second: %v, %v", got, err)
	}
	for _, text := range []string{``, `null`, `""`} {
		if got, err := instant(json.RawMessage(text)); err != nil || !got.IsZero() {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestClaimLifeIsTheShorterOfBothClocksWithinBounds(t *testing.T) {
	t.Parallel()
	now := at(1000_000)
	after := func(d time.Duration) time.Time { return now.Add(d) }
	for _, test := range []struct {
		name              string
		deadline, updated time.Time
		want              time.Duration
	}{
		{"both clocks agree", after(5 * time.Minute), now, 5 * time.Minute},
		{"our clock is behind the service's", after(65 * time.Minute), after(time.Hour), 5 * time.Minute},
		{"our clock is ahead of the service's", after(time.Minute), after(-4 * time.Minute), time.Minute},
		{"our clock is past the deadline", after(-time.Minute), after(-6 * time.Minute), 5 * time.Minute},
		{"no updated_at", after(2 * time.Minute), time.Time{}, 2 * time.Minute},
		{"updated after the deadline", after(2 * time.Minute), after(3 * time.Minute), 2 * time.Minute},
		{"no deadline", time.Time{}, now, 5 * time.Minute},
		{"a deadline that is past by every clock", after(-time.Minute), now, 5 * time.Minute},
		{"a day", after(24 * time.Hour), now, time.Hour},
	} {
		if got := life(Entry{ClaimDeadline: test.deadline, UpdatedAt: test.updated}, now); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestClaimWithRubbishDeadlineIsStillAClaim(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer(`1781050400`, `"soon"`, `"phase"`, `"connect_token": "ct", "gateway_url": "wss://g", "phase"`).Replace(whole)
	got, err := decodeClaim([]byte(text), at(1781050100))
	if err != nil {
		t.Fatal(err)
	}
	if got.Life != 5*time.Minute || !got.ClaimDeadline.IsZero() || got.ConnectToken.Reveal() != "ct" || got.GatewayURL != "wss://g" {
		t.Errorf("%+v", got)
	}
}

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	const token = "cog_abc123"
	held := struct{ Token Secret }{token}
	var logged bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&logged, nil))
	logger.Info("m", "token", Secret(token), "held", held)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "token", Secret(token), "held", held)
	marshalled, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{logged.String(), string(marshalled), Secret(token).String(), fmt.Sprint(Secret(token), held, &held)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x", "%X", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, Secret(token)), fmt.Sprintf(verb, held))
	}
	for _, text := range shown {
		if strings.Contains(text, "abc123") || strings.Contains(text, fmt.Sprintf("%x", "abc123")) || !strings.Contains(text, redacted) {
			t.Errorf("shows a token, or nothing: %s", text)
		}
	}
	if Secret(token).Reveal() != token {
		t.Error("Reveal does not give the token")
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(whole))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := decodeEntry(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("the error does not wrap ErrMalformed: %v", err)
			}
			return
		}
		if got.SessionID == "" || got.OutpostID == "" || !slices.Contains(phases, got.Phase) || !slices.Contains(statuses, got.Status) ||
			!slices.Contains(kinds, got.Kind) || !slices.Contains(platforms, got.Platform) {
			t.Fatalf("accepted %+v", got)
		}
		for _, moment := range []time.Time{got.CreatedAt, got.UpdatedAt, got.ClaimDeadline} {
			if year := moment.Year(); year < 1 || year > 10000 {
				t.Fatalf("accepted the year %d", year)
			}
		}
		if claim, err := decodeClaim(raw, at(1781050100)); err != nil || claim.Life <= 0 || claim.Life > longestLife {
			t.Fatalf("as a claim: life %v, error %v", claim.Life, err)
		}
	})
}
