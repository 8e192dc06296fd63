package outpoststest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

type event struct {
	Type   string `json:"type"` // MODIFIED or DELETED
	Object entry  `json:"object"`
	Cursor string `json:"cursor"`
}

// watch streams the changes after a cursor as Server-Sent Events, until the
// stream has lived long enough.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, fault Fault) {
	if refusal := s.admit(r, []string{"outpost", "watch", "cursor", "phase", "acceptor_id"}); refusal != nil {
		refusal.write(w)
		return
	}
	from, known := revOf(r.URL.Query().Get("cursor"))
	if !known {
		invalid("query", "cursor", "not a cursor").write(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	end := time.NewTimer(s.options.StreamLife)
	defer end.Stop()
	alive := time.NewTicker(s.options.KeepAlive)
	defer alive.Stop()
	say := func(text string) bool {
		_, err := io.WriteString(w, text)
		return err == nil && flush() == nil
	}
	if !say(": open\n\n") {
		return
	}
	for {
		s.mu.Lock()
		changed := s.changed
		var events []event
		if fault.Kind != FaultSilent {
			events = s.eventsSince(from, r.URL.Query().Get("outpost"))
		}
		// settle may have changed something while we looked: look again at once.
		again := changed != s.changed
		s.mu.Unlock()
		for _, e := range events {
			from, _ = revOf(e.Cursor)
			text, err := json.Marshal(e)
			if err != nil || !say(fmt.Sprintf("data: %s\n\n", text)) {
				return
			}
		}
		if again && fault.Kind != FaultSilent {
			continue
		}
		select {
		case <-changed:
		case <-alive.C:
			if !say(": keepalive\n\n") {
				return
			}
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}

func (s *Server) eventsSince(rev int64, outpost string) []event {
	var events []event
	for _, rec := range s.byRev() {
		if rec.rev <= rev || outpost != "" && rec.OutpostID != outpost {
			continue
		}
		kind := "MODIFIED"
		if !rec.Queued {
			kind = "DELETED"
		}
		events = append(events, event{kind, rec.entry(), cursorOf(rec.rev)})
	}
	return events
}
