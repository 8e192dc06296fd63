package outpoststest

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Session is what the simulator knows of a session at one moment.
type Session struct {
	ID            string          `json:"session_id"`
	OutpostID     string          `json:"outpost_id"`
	Kind          string          `json:"kind"`
	Platform      string          `json:"platform"`
	RemoteSHA     string          `json:"remote_binary_sha,omitempty"`
	NetworkPolicy json.RawMessage `json:"network_policy,omitempty"`

	Queued        bool      `json:"queued"` // it has an entry in the queue
	Phase         string    `json:"phase"`
	Status        string    `json:"session_status"`
	AcceptorID    string    `json:"acceptor_id,omitempty"`
	ClaimDeadline time.Time `json:"claim_deadline,omitzero"`
	Connected     bool      `json:"connected"` // a worker is at the gateway

	EnqueuedAt  time.Time `json:"enqueued_at"`           // last enqueued or resumed
	ClaimedAt   time.Time `json:"claimed_at,omitzero"`   // first claimed since then
	ConnectedAt time.Time `json:"connected_at,omitzero"` // first connected since then

	Claims      int `json:"claims"`      // claims granted, renewals not counted
	Renewals    int `json:"renewals"`    // claims renewed
	Releases    int `json:"releases"`    // claims given back
	Connections int `json:"connections"` // workers let in at the gateway
	Refused     int `json:"refused"`     // workers turned away at the gateway
}

// record is a session with what only the service sees of it.
type record struct {
	Session
	rev     int64 // of its last change; rows are ordered by it
	updated time.Time
	tokens  map[string]bool // connect tokens of the unbroken claim
	worker  *worker         // who serves it, or is about to
}

func (r *record) live() bool { return r.Status == "pending" || r.Status == "running" }

// touch records a change. The caller holds the lock.
func (s *Server) touch(rec *record) {
	s.rev++
	rec.rev, rec.updated = s.rev, s.options.Now()
	s.announce()
}

// settle applies what time has brought about: an expired claim of a session
// that does not run goes back to the queue, an old leftover is pruned. The
// caller holds the lock.
func (s *Server) settle(rec *record) {
	now := s.options.Now()
	if rec.Phase == "claimed" && rec.Status != "running" && !now.Before(rec.ClaimDeadline) {
		s.breakClaim(rec)
	}
	leftover := rec.Queued && rec.Phase == "pending" && !rec.live()
	if leftover && s.options.PruneAfter > 0 && now.Sub(rec.updated) >= s.options.PruneAfter {
		rec.Queued = false
		s.touch(rec)
	}
}

// breakClaim ends the claim: its tokens are void and its worker is cut off. The
// caller holds the lock.
func (s *Server) breakClaim(rec *record) {
	rec.Phase, rec.AcceptorID, rec.ClaimDeadline, rec.tokens = "pending", "", time.Time{}, nil
	rec.cutWorker()
	s.touch(rec)
}

// find returns the settled record, nil when the queue has no such session. The
// caller holds the lock.
func (s *Server) find(sessionID string) *record {
	rec := s.sessions[sessionID]
	if rec == nil {
		return nil
	}
	if s.settle(rec); !rec.Queued {
		return nil
	}
	return rec
}

func (s *Server) snapshot(sessionID string) Session {
	rec := s.sessions[sessionID]
	if rec == nil {
		return Session{}
	}
	s.settle(rec)
	return rec.Session
}

// byRev returns all settled records, the least recently changed first. The
// caller holds the lock.
func (s *Server) byRev() []*record {
	all := make([]*record, 0, len(s.sessions))
	for _, rec := range s.sessions {
		s.settle(rec)
		all = append(all, rec)
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.rev, b.rev) })
	return all
}

// entry is a queue entry on the wire.
type entry struct {
	Metadata entryMetadata `json:"metadata"`
	Spec     entrySpec     `json:"spec"`
	Status   entryStatus   `json:"status"`
}

type entryMetadata struct {
	SessionID string `json:"session_id"`
	OutpostID string `json:"outpost_id"`
	CreatedAt int64  `json:"created_at"`
	UpdatedAt int64  `json:"updated_at"`
}

type entrySpec struct {
	Kind          string          `json:"kind"`
	Platform      *string         `json:"platform"`
	RemoteSHA     *string         `json:"remote_binary_sha"`
	NetworkPolicy json.RawMessage `json:"network_policy,omitempty"`
}

type entryStatus struct {
	Phase         string  `json:"phase"`
	AcceptorID    *string `json:"acceptor_id"`
	ClaimDeadline *int64  `json:"claim_deadline"`
	SessionStatus string  `json:"session_status"`
	ConnectToken  string  `json:"connect_token,omitempty"`
	GatewayURL    string  `json:"gateway_url,omitempty"`
}

func (r *record) entry() entry {
	wire := entry{
		Metadata: entryMetadata{r.ID, r.OutpostID, r.EnqueuedAt.Unix(), r.updated.Unix()},
		Spec:     entrySpec{r.Kind, orNull(r.Platform), orNull(r.RemoteSHA), r.NetworkPolicy},
		Status:   entryStatus{Phase: r.Phase, AcceptorID: orNull(r.AcceptorID), SessionStatus: r.Status},
	}
	if !r.ClaimDeadline.IsZero() {
		deadline := r.ClaimDeadline.Unix()
		wire.Status.ClaimDeadline = &deadline
	}
	return wire
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
