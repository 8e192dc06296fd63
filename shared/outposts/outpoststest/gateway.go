package outpoststest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	mostOutput = 4 << 20          // bytes of one message
	goodbye    = 10 * time.Second // how long a worker that was told to end may stay
)

// Message is what gateway and remote say to each other, as JSON text. The
// protocol is the simulator's own: the real one is not public.
type Message struct {
	Type    string `json:"type"` // to the remote: "run", "end"; from it: "result"
	ID      int    `json:"id,omitempty"`
	Command string `json:"command,omitempty"` // of run
	Reason  string `json:"reason,omitempty"`  // of end: suspended or terminated
	Output  string `json:"output,omitempty"`  // of result: both streams
	Exit    int    `json:"exit"`              // of result
	Error   string `json:"error,omitempty"`   // of result: it could not be run
}

// worker is one connection at the gateway.
type worker struct {
	cut      context.CancelFunc
	outgoing chan Message
	ending   chan string // holds at most the one reason
	gone     chan struct{}
	lastID   int
	waiting  map[int]chan Message
}

func (w *worker) end(reason string) {
	select {
	case w.ending <- reason:
	default: // it has been told
	}
}

// cutWorker ends the connection of the record's worker. The caller holds the lock.
func (r *record) cutWorker() {
	if r.worker != nil {
		r.worker.cut()
		r.worker, r.Connected = nil, false
	}
}

// gateway lets a worker in: one a session, with any connect token of the
// unbroken claim.
func (s *Server) gateway(w http.ResponseWriter, r *http.Request, _ Fault) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	self := &worker{
		cut: cancel, outgoing: make(chan Message, 16), ending: make(chan string, 1),
		gone: make(chan struct{}), waiting: map[int]chan Message{},
	}
	defer close(self.gone)
	sessionID := r.URL.Query().Get("session")
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if refusal := s.enter(sessionID, token, self); refusal != nil {
		refusal.write(w)
		return
	}
	defer s.leave(sessionID, self)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(mostOutput)
	if !s.serve(sessionID, self) {
		return
	}
	go self.write(ctx, conn)
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var message Message
		if json.Unmarshal(text, &message) == nil && message.Type == "result" {
			s.deliver(self, message)
		}
	}
}

// enter reserves the session's one place for self.
func (s *Server) enter(sessionID, token string, self *worker) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.find(sessionID)
	refusal := reply{}
	switch {
	case rec == nil || rec.Phase != "claimed" || !rec.tokens[token]:
		refusal = fail(http.StatusForbidden, "the connect token is not of this session's current claim")
	case !rec.live():
		refusal = fail(http.StatusGone, "the session is "+rec.Status)
	case rec.worker != nil:
		refusal = fail(http.StatusConflict, "the session has a worker")
	case s.closed:
		refusal = fail(http.StatusServiceUnavailable, "closing")
	default:
		rec.worker = self
		return nil
	}
	if rec != nil {
		rec.Refused++
		s.announce()
	}
	return &refusal
}

// serve marks the session as running, unless the claim was broken meanwhile.
func (s *Server) serve(sessionID string, self *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.sessions[sessionID]
	if rec.worker != self {
		return false
	}
	if rec.live() { // else it ended between entering and now, and is told below
		rec.Status = "running"
	}
	rec.Connected = true
	rec.Connections++
	if rec.ConnectedAt.IsZero() {
		rec.ConnectedAt = s.options.Now()
	}
	s.touch(rec)
	return true
}

func (s *Server) leave(sessionID string, self *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec := s.sessions[sessionID]; rec.worker == self {
		rec.worker, rec.Connected = nil, false
		s.announce()
	}
}

// write sends what the session has for its worker. After an end it waits a
// little for the worker to go by itself.
func (w *worker) write(ctx context.Context, conn *websocket.Conn) {
	send := func(message Message) bool {
		text, err := json.Marshal(message)
		return err == nil && conn.Write(ctx, websocket.MessageText, text) == nil
	}
	for {
		select {
		case message := <-w.outgoing:
			if !send(message) {
				w.cut()
				return
			}
		case reason := <-w.ending:
			send(Message{Type: "end", Reason: reason})
			time.AfterFunc(goodbye, w.cut)
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) deliver(self *worker, result Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := self.waiting[result.ID]; waiting != nil {
		delete(self.waiting, result.ID)
		waiting <- result // holds one
	}
}

// Exec has the session's worker run a shell command in its workspace, and
// returns what it wrote to both streams and its exit code.
func (s *Server) Exec(ctx context.Context, sessionID, command string) (output string, exit int, err error) {
	s.mu.Lock()
	rec := s.sessions[sessionID]
	if rec == nil || !rec.Connected {
		s.mu.Unlock()
		return "", 0, fmt.Errorf("run a command in session %s: no worker is connected", sessionID)
	}
	self := rec.worker
	self.lastID++
	id, answer := self.lastID, make(chan Message, 1)
	self.waiting[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(self.waiting, id)
		s.mu.Unlock()
	}()

	select {
	case self.outgoing <- Message{Type: "run", ID: id, Command: command}:
	case <-self.gone:
		return "", 0, fmt.Errorf("run a command in session %s: its worker went away", sessionID)
	case <-ctx.Done():
		return "", 0, fmt.Errorf("run a command in session %s: %w", sessionID, ctx.Err())
	}
	select {
	case result := <-answer:
		if result.Error != "" {
			return result.Output, result.Exit, fmt.Errorf("run a command in session %s: %w", sessionID, errors.New(result.Error))
		}
		return result.Output, result.Exit, nil
	case <-self.gone:
		return "", 0, fmt.Errorf("run a command in session %s: its worker went away", sessionID)
	case <-ctx.Done():
		return "", 0, fmt.Errorf("run a command in session %s: %w", sessionID, ctx.Err())
	}
}
