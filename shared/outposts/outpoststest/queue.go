package outpoststest

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A cursor is a revision. Lists and watches share it, as the reference says.
func cursorOf(rev int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("v1:" + strconv.FormatInt(rev, 10)))
}

func revOf(cursor string) (int64, bool) {
	if cursor == "" {
		return 0, true
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	digits, ours := strings.CutPrefix(string(text), "v1:")
	rev, err := strconv.ParseInt(digits, 10, 64)
	return rev, ours && err == nil
}

type sessionPage struct {
	Items       []any  `json:"items"`
	Cursor      string `json:"cursor"`
	HasNextPage bool   `json:"has_next_page"`
	Total       int    `json:"total"`
}

func (s *Server) list(r *http.Request, fault Fault) reply {
	query := r.URL.Query()
	first, refusal := pageSize(query.Get("first"))
	if refusal != nil {
		return *refusal
	}
	from, known := revOf(query.Get("cursor"))
	if !known {
		return invalid("query", "cursor", "not a cursor")
	}
	outpost, phase, acceptor := query.Get("outpost"), query.Get("phase"), query.Get("acceptor_id")
	if phase != "" && phase != "pending" && phase != "claimed" {
		return invalid("query", "phase", "pending or claimed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if outpost != "" && !slices.Contains(s.outposts, outpost) {
		return fail(http.StatusNotFound, "no such outpost")
	}
	// Rows at the cursor come again, unless a page holds but one row.
	again := from > 0 && first > 1
	page := sessionPage{Items: []any{}, Cursor: cursorOf(s.rev)}
	if fault.Kind == FaultMalformed {
		page.Items = unreadable()
	}
	for _, rec := range s.byRev() {
		matches := rec.Queued && (outpost == "" || rec.OutpostID == outpost) && (phase == "" || rec.Phase == phase) && (acceptor == "" || rec.AcceptorID == acceptor)
		if !matches {
			continue
		}
		page.Total++
		if rec.rev < from || rec.rev == from && !again || page.HasNextPage {
			continue
		}
		if first == 0 {
			page.HasNextPage = true
			continue
		}
		first--
		page.Items = append(page.Items, rec.entry())
		page.Cursor = cursorOf(rec.rev)
	}
	return reply{http.StatusOK, page}
}

func pageSize(text string) (int, *reply) {
	if text == "" {
		return 100, nil
	}
	if first, err := strconv.Atoi(text); err == nil && first >= 1 && first <= 200 {
		return first, nil
	}
	refusal := invalid("query", "first", "1 to 200")
	return 0, &refusal
}

// unreadable are rows as a newer or a broken service might send them.
func unreadable() []any {
	return []any{
		map[string]any{
			"metadata": map[string]any{"session_id": "devin-hologram", "outpost_id": DefaultOutpost, "created_at": 1, "updated_at": 1},
			"spec":     map[string]any{"kind": "hologram", "platform": "linux", "remote_binary_sha": nil},
			"status":   map[string]any{"phase": "pending", "acceptor_id": nil, "claim_deadline": nil, "session_status": "pending"},
		},
		map[string]any{"spec": map[string]any{"kind": "new"}},
		map[string]any{
			"metadata": map[string]any{"session_id": "devin-rubbish", "outpost_id": DefaultOutpost, "created_at": 1, "updated_at": 1},
			"spec":     map[string]any{"kind": "new"},
			"status":   map[string]any{"phase": "claimed", "acceptor_id": "x", "claim_deadline": "soon", "session_status": "pending"},
		},
	}
}

func (s *Server) get(r *http.Request, fault Fault) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.find(r.PathValue("session"))
	if rec == nil {
		return notQueued
	}
	if fault.Kind == FaultMalformed {
		return reply{http.StatusOK, unreadable()[0]}
	}
	return reply{http.StatusOK, rec.entry()}
}

var notQueued = fail(http.StatusNotFound, "session is not in the queue")

type outpostPage struct {
	Items       []any  `json:"items"`
	EndCursor   string `json:"end_cursor"`
	HasNextPage bool   `json:"has_next_page"`
	Total       int    `json:"total"`
}

func (s *Server) listOutposts(r *http.Request, _ Fault) reply {
	first, refusal := pageSize(r.URL.Query().Get("first"))
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, known := revOf(r.URL.Query().Get("after"))
	if !known || from < 0 || from > int64(len(s.outposts)) {
		return invalid("query", "after", "not a cursor")
	}
	until := min(int(from)+first, len(s.outposts))
	page := outpostPage{Items: []any{}, EndCursor: cursorOf(int64(until)), HasNextPage: until < len(s.outposts), Total: len(s.outposts)}
	for _, id := range s.outposts[from:until] {
		page.Items = append(page.Items, map[string]any{
			"metadata": map[string]any{"outpost_id": id, "account_id": "account-simulated", "created_at": s.options.Now().Unix()},
			"spec":     map[string]any{"name": strings.TrimPrefix(id, "outpost_env-"), "platform": "linux", "description": nil},
			"status":   s.depth(id),
		})
	}
	return reply{http.StatusOK, page}
}

func (s *Server) depth(outpost string) map[string]int {
	waiting, claimed := 0, 0
	for _, rec := range s.byRev() {
		switch {
		case rec.OutpostID != outpost || !rec.Queued:
		case rec.Phase == "claimed":
			claimed++
		default:
			waiting++
		}
	}
	return map[string]int{"queue_depth": waiting, "active_claims": claimed}
}
