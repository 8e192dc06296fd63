package outposts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode"
)

// wireEntry is a queue entry as the service sends it. Fields that were seen in
// more than one form stay raw.
type wireEntry struct {
	Metadata struct {
		SessionID string          `json:"session_id"`
		OutpostID string          `json:"outpost_id"`
		PoolID    string          `json:"pool_id"` // the older name of outpost_id
		CreatedAt json.RawMessage `json:"created_at"`
		UpdatedAt json.RawMessage `json:"updated_at"`
	} `json:"metadata"`
	Spec struct {
		Kind          string `json:"kind"`
		Platform      string `json:"platform"`
		RemoteSHA     string `json:"remote_binary_sha"`
		NetworkPolicy *struct {
			Enabled *bool         `json:"enabled"`
			Allow   []NetworkRule `json:"allow"`
		} `json:"network_policy"`
	} `json:"spec"`
	Status struct {
		Phase         string          `json:"phase"`
		AcceptorID    string          `json:"acceptor_id"`
		ClaimDeadline json.RawMessage `json:"claim_deadline"`
		SessionStatus string          `json:"session_status"`
		ConnectToken  string          `json:"connect_token"`
		GatewayURL    string          `json:"gateway_url"`
	} `json:"status"`
}

var (
	phases    = []string{PhasePending, PhaseClaimed}
	statuses  = []string{StatusPending, StatusRunning, StatusSuspended, StatusTerminated}
	kinds     = []string{KindNew, KindResume}
	platforms = []string{PlatformLinux, PlatformMacOS, PlatformWindows}

	commit = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
)

// decodeEntry reads one entry. Its error names the field at fault and wraps
// ErrMalformed; the entry's session id is set even then, when it could be read.
func decodeEntry(raw []byte) (Entry, error) {
	entry, wire, err := decodeBody(raw)
	if err != nil {
		return entry, err
	}
	entry.ClaimDeadline, err = instant(wire.Status.ClaimDeadline)
	if err != nil {
		return entry, malformed("status.claim_deadline: %w", err)
	}
	return entry, nil
}

// decodeStatus reads the one entry that was asked for. A deadline that cannot
// be read does not spoil it, and counts as none given: a worker's fate hangs on
// the rest.
func decodeStatus(raw []byte) (Entry, wireEntry, error) {
	entry, wire, err := decodeBody(raw)
	if err != nil {
		return entry, wire, err
	}
	if deadline, err := instant(wire.Status.ClaimDeadline); err == nil {
		entry.ClaimDeadline = deadline
	}
	return entry, wire, nil
}

// decodeBody reads everything of an entry but its claim deadline.
func decodeBody(raw []byte) (Entry, wireEntry, error) {
	var wire wireEntry
	err := json.Unmarshal(raw, &wire)
	entry := Entry{SessionID: wire.Metadata.SessionID}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return entry, wire, malformed("%s is a %s", cmp.Or(wrong.Field, "the entry"), wrong.Value)
	}
	if err != nil {
		return entry, wire, malformed("%s", brief(err.Error()))
	}
	if entry.SessionID == "" {
		return entry, wire, malformed("metadata.session_id is missing")
	}
	entry.OutpostID = wire.Metadata.OutpostID
	if entry.OutpostID == "" {
		entry.OutpostID = wire.Metadata.PoolID
	}
	if entry.OutpostID == "" {
		return entry, wire, malformed("metadata.outpost_id is missing")
	}
	if entry.CreatedAt, err = instant(wire.Metadata.CreatedAt); err != nil {
		return entry, wire, malformed("metadata.created_at: %w", err)
	}
	if entry.UpdatedAt, err = instant(wire.Metadata.UpdatedAt); err != nil {
		return entry, wire, malformed("metadata.updated_at: %w", err)
	}
	entry.Kind, entry.Platform = wire.Spec.Kind, wire.Spec.Platform
	if entry.Platform == "" {
		entry.Platform = PlatformLinux
	}
	entry.Phase, entry.Status = wire.Status.Phase, wire.Status.SessionStatus
	entry.AcceptorID = wire.Status.AcceptorID
	for _, field := range []struct {
		name, value string
		known       []string
	}{
		{"spec.kind", entry.Kind, kinds},
		{"spec.platform", entry.Platform, platforms},
		{"status.phase", entry.Phase, phases},
		{"status.session_status", entry.Status, statuses},
	} {
		if !slices.Contains(field.known, field.value) {
			return entry, wire, malformed("%s is %s, none of %q", field.name, brief(field.value), field.known)
		}
	}
	entry.RemoteSHA = wire.Spec.RemoteSHA
	if entry.RemoteSHA != "" && !commit.MatchString(entry.RemoteSHA) {
		return entry, wire, malformed("spec.remote_binary_sha is %s, not 7 to 64 hex digits", brief(entry.RemoteSHA))
	}
	if policy := wire.Spec.NetworkPolicy; policy != nil {
		// A policy that lists rules without saying whether it is enabled binds.
		enabled := len(policy.Allow) > 0
		if policy.Enabled != nil {
			enabled = *policy.Enabled
		}
		entry.NetworkPolicy = &NetworkPolicy{Enabled: enabled, Allow: policy.Allow}
	}
	return entry, wire, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// brief makes foreign text fit for an error: at most 100 characters, quoted
// when it holds anything but plain printable ones.
func brief(text string) string {
	text = shorten(text, 100)
	for _, r := range text {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	if text == "" {
		return `""`
	}
	return text
}

// shorten cuts text to at most limit characters.
func shorten(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes == limit {
			return text[:at] + "…"
		}
		runes++
	}
	return text
}
