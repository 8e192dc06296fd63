package outpoststest

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// EnqueueOptions describe a session to be queued. All may be left empty.
type EnqueueOptions struct {
	SessionID     string          `json:"session_id"`        // empty = a new one
	OutpostID     string          `json:"outpost_id"`        // empty = the server's first
	Kind          string          `json:"kind"`              // new (the default) or resume
	Platform      string          `json:"platform"`          // empty = null, which stands for linux
	RemoteSHA     string          `json:"remote_binary_sha"` // empty = null, the latest
	NetworkPolicy json.RawMessage `json:"network_policy"`    // JSON, sent as it is; nil = absent
	Running       bool            `json:"running"`           // it counts as started while it waits
}

var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// Enqueue puts a session into a queue. It panics where TryEnqueue would fail.
func (s *Server) Enqueue(options EnqueueOptions) Session {
	session, err := s.TryEnqueue(options)
	if err != nil {
		panic("outpoststest: " + err.Error())
	}
	return session
}

// TryEnqueue puts a session into a queue. It fails on an outpost or a value
// that the service does not know, and on a session id that was used before.
func (s *Server) TryEnqueue(options EnqueueOptions) (Session, error) {
	var policy bytes.Buffer
	if options.NetworkPolicy != nil {
		if err := json.Compact(&policy, options.NetworkPolicy); err != nil {
			return Session{}, fmt.Errorf("enqueue session %s: network_policy: %w", options.SessionID, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &record{Session: Session{
		ID:        cmp.Or(options.SessionID, "devin-"+strings.ToLower(rand.Text())),
		OutpostID: cmp.Or(options.OutpostID, s.outposts[0]),
		Kind:      cmp.Or(options.Kind, "new"), Platform: options.Platform, RemoteSHA: options.RemoteSHA,
		NetworkPolicy: policy.Bytes(),
		Queued:        true, Phase: "pending", Status: "pending", EnqueuedAt: s.options.Now(),
	}}
	if options.Running {
		rec.Status = "running"
	}
	switch {
	case !slices.Contains(s.outposts, rec.OutpostID):
		return Session{}, fmt.Errorf("enqueue session %s: there is no outpost %s, only %s", rec.ID, rec.OutpostID, strings.Join(s.outposts, ", "))
	case s.sessions[rec.ID] != nil:
		return Session{}, fmt.Errorf("enqueue session %s: it exists: resume it, or take another id", rec.ID)
	case rec.Kind != "new" && rec.Kind != "resume":
		return Session{}, fmt.Errorf("enqueue session %s: kind is %q: new or resume", rec.ID, rec.Kind)
	case !slices.Contains([]string{"", "linux", "macos", "windows"}, rec.Platform):
		return Session{}, fmt.Errorf("enqueue session %s: platform is %q: linux, macos or windows", rec.ID, rec.Platform)
	case rec.RemoteSHA != "" && !commit.MatchString(rec.RemoteSHA):
		return Session{}, fmt.Errorf("enqueue session %s: remote_binary_sha is %q: 7 to 64 hex digits", rec.ID, rec.RemoteSHA)
	}
	s.sessions[rec.ID] = rec
	s.touch(rec)
	return rec.Session, nil
}

// Resume wakes a session that sleeps: it waits again, as kind resume. A claim
// that was still held on it is broken.
func (s *Server) Resume(sessionID string) error {
	return s.with("resume", sessionID, func(rec *record) error {
		if rec.Status != "suspended" {
			return fmt.Errorf("it is %s, not suspended", rec.Status)
		}
		rec.Kind, rec.Status, rec.Queued = "resume", "pending", true
		rec.EnqueuedAt, rec.ClaimedAt, rec.ConnectedAt = s.options.Now(), time.Time{}, time.Time{}
		if rec.worker != nil { // on its way out: let it go in peace
			rec.worker.end("suspended")
			rec.worker, rec.Connected = nil, false
		}
		s.breakClaim(rec)
		return nil
	})
}

// Suspend lets a session sleep; its worker is told, and its remote exits 0.
func (s *Server) Suspend(sessionID string) error { return s.end("suspend", sessionID, "suspended") }

// Terminate ends a session for good; its worker is told, and its remote exits 0.
func (s *Server) Terminate(sessionID string) error {
	return s.end("terminate", sessionID, "terminated")
}

func (s *Server) end(verb, sessionID, status string) error {
	return s.with(verb, sessionID, func(rec *record) error {
		if rec.Status == "terminated" {
			return fmt.Errorf("it is terminated")
		}
		rec.Status = status
		if rec.worker != nil {
			rec.worker.end(status)
		}
		s.touch(rec)
		return nil
	})
}

// SetStatus changes what the queue says of a session and leaves its worker
// alone, as when "suspended" flashes by while the remote is healthy.
func (s *Server) SetStatus(sessionID, status string) error {
	return s.with("set the status of", sessionID, func(rec *record) error {
		rec.Status = status
		s.touch(rec)
		return nil
	})
}

// Vanish removes a session's entry from the queue; its worker is cut off.
func (s *Server) Vanish(sessionID string) error {
	return s.with("remove", sessionID, func(rec *record) error {
		rec.Queued = false
		s.breakClaim(rec)
		return nil
	})
}

// Steal gives the claim to another acceptor; the worker of the old one is cut off.
func (s *Server) Steal(sessionID, acceptorID string) error {
	return s.with("steal", sessionID, func(rec *record) error {
		s.breakClaim(rec)
		s.grant(rec, acceptorID)
		return nil
	})
}

// Disconnect cuts the worker's connection, as a network failure would. The
// worker may dial again.
func (s *Server) Disconnect(sessionID string) error {
	return s.with("disconnect", sessionID, func(rec *record) error {
		if rec.worker == nil {
			return fmt.Errorf("no worker is connected")
		}
		rec.cutWorker()
		s.announce()
		return nil
	})
}

func (s *Server) with(verb, sessionID string, change func(*record) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.sessions[sessionID]
	if rec == nil {
		return fmt.Errorf("%s session %s: it was never enqueued", verb, sessionID)
	}
	s.settle(rec)
	if err := change(rec); err != nil {
		return fmt.Errorf("%s session %s: %w", verb, sessionID, err)
	}
	return nil
}

// Session is the session as it is now; the zero Session when it was never enqueued.
func (s *Server) Session(sessionID string) Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(sessionID)
}

// Sessions are all sessions that ever were, by time of their last enqueuing
// and id.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Session, 0, len(s.sessions))
	for _, rec := range s.byRev() {
		all = append(all, rec.Session)
	}
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(a.EnqueuedAt.Compare(b.EnqueuedAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}
