package outpoststest

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// acceptorOf reads the body of a claim or a release.
func acceptorOf(r *http.Request) (string, *reply) {
	var body struct {
		AcceptorID string `json:"acceptor_id"`
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&body)
	switch {
	case r.Header.Get("Content-Type") != "application/json":
		refusal := invalid("header", "content-type", "application/json")
		return "", &refusal
	case err != nil:
		refusal := invalid("body", "acceptor_id", err.Error())
		return "", &refusal
	case body.AcceptorID == "":
		refusal := invalid("body", "acceptor_id", "field required")
		return "", &refusal
	}
	return body.AcceptorID, nil
}

func (s *Server) claim(r *http.Request, fault Fault) reply {
	acceptor, refusal := acceptorOf(r)
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.find(r.PathValue("session"))
	if rec == nil {
		return notQueued
	}
	if fault.Kind == FaultSteal {
		s.breakClaim(rec)
		s.grant(rec, "somebody-quicker")
	}
	if rec.Phase == "claimed" && rec.AcceptorID != acceptor {
		return fail(http.StatusConflict, "session is claimed by another acceptor")
	}
	status := http.StatusCreated
	if rec.Phase == "claimed" {
		status = http.StatusOK
	}
	token := s.grant(rec, acceptor)
	answer := rec.entry()
	answer.Status.ConnectToken, answer.Status.GatewayURL = token, s.GatewayURL()
	switch fault.Kind {
	case FaultMalformed:
		return reply{status, unreadable()[0]}
	case FaultBare:
		answer.Status.ConnectToken, answer.Status.GatewayURL = "", ""
	case FaultForeign:
		answer.Metadata.SessionID = "devin-somebody-elses"
	}
	return reply{status, answer}
}

// grant gives the claim to acceptor, or renews it, and returns a fresh connect
// token. The caller holds the lock and has checked that it may.
func (s *Server) grant(rec *record, acceptor string) string {
	now := s.options.Now()
	if rec.Phase == "claimed" {
		rec.Renewals++
	} else {
		rec.Claims++
		rec.tokens = map[string]bool{}
		if rec.ClaimedAt.IsZero() {
			rec.ClaimedAt = now
		}
	}
	token := "ct_" + rand.Text()
	rec.tokens[token] = true
	rec.Phase, rec.AcceptorID = "claimed", acceptor
	// The wire knows whole seconds; the truth is what it says.
	rec.ClaimDeadline = now.Add(s.options.ClaimLife).Truncate(time.Second)
	s.touch(rec)
	return token
}

func (s *Server) release(r *http.Request, _ Fault) reply {
	acceptor, refusal := acceptorOf(r)
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.find(r.PathValue("session"))
	switch {
	case rec == nil:
		return notQueued
	case rec.Phase != "claimed" || rec.AcceptorID != acceptor:
		return fail(http.StatusConflict, "session is not claimed by this acceptor")
	}
	rec.Releases++
	s.breakClaim(rec)
	// Both answers were seen in the field; each has its turn.
	if rec.Releases%2 == 0 {
		return reply{http.StatusOK, rec.entry()}
	}
	return reply{status: http.StatusNoContent}
}
