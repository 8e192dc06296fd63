package outpoststest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

const (
	control     = "/control"
	execTimeout = time.Minute // unless the request names another
)

// controlBody is the body of every control request about one session.
type controlBody struct {
	SessionID  string `json:"session_id"`
	AcceptorID string `json:"acceptor_id"` // of steal
	Command    string `json:"command"`     // of exec
	Timeout    string `json:"timeout"`     // of exec, such as 30s
}

// faultBody is a Fault with its delay as a text such as 2s.
type faultBody struct {
	Fault
	Delay string `json:"delay"`
}

// routeControl adds what a person or a script moves the simulator with. It
// takes the account token, since it can run commands.
func (s *Server) routeControl(mux *http.ServeMux) {
	move := func(change func(controlBody) error) func(*http.Request) reply {
		return func(r *http.Request) reply {
			var body controlBody
			if refusal := decodeControl(r, &body); refusal != nil {
				return *refusal
			}
			if s.Session(body.SessionID).ID == "" {
				return fail(http.StatusNotFound, "no session "+body.SessionID+" was ever enqueued")
			}
			if err := change(body); err != nil {
				return fail(http.StatusConflict, err.Error())
			}
			return reply{http.StatusOK, s.Session(body.SessionID)}
		}
	}
	onSession := func(change func(string) error) func(*http.Request) reply {
		return move(func(body controlBody) error { return change(body.SessionID) })
	}
	for pattern, answer := range map[string]func(*http.Request) reply{
		"POST " + control + "/enqueue":           s.controlEnqueue,
		"POST " + control + "/resume":            onSession(s.Resume),
		"POST " + control + "/suspend":           onSession(s.Suspend),
		"POST " + control + "/terminate":         onSession(s.Terminate),
		"POST " + control + "/end":               onSession(s.Terminate),
		"POST " + control + "/vanish":            onSession(s.Vanish),
		"POST " + control + "/disconnect":        onSession(s.Disconnect),
		"POST " + control + "/steal":             move(func(b controlBody) error { return s.Steal(b.SessionID, cmp.Or(b.AcceptorID, "somebody-else")) }),
		"POST " + control + "/exec":              s.controlExec,
		"POST " + control + "/fault":             s.controlFault,
		"DELETE " + control + "/fault":           s.controlClear,
		"GET " + control + "/sessions":           s.controlSessions,
		"GET " + control + "/sessions/{session}": s.controlSession,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if refusal := s.admit(r, nil); refusal != nil {
				refusal.write(w)
				return
			}
			answer(r).write(w)
		})
	}
}

func decodeControl(r *http.Request, into any) *reply {
	decoder := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		refusal := fail(http.StatusUnprocessableEntity, "the body is not the JSON that is wanted: "+err.Error())
		return &refusal
	}
	return nil
}

func (s *Server) controlEnqueue(r *http.Request) reply {
	var options EnqueueOptions
	if refusal := decodeControl(r, &options); refusal != nil {
		return *refusal
	}
	session, err := s.TryEnqueue(options)
	if err != nil {
		return fail(http.StatusUnprocessableEntity, err.Error())
	}
	return reply{http.StatusCreated, session}
}

func (s *Server) controlExec(r *http.Request) reply {
	var body controlBody
	if refusal := decodeControl(r, &body); refusal != nil {
		return *refusal
	}
	timeout, err := time.ParseDuration(cmp.Or(body.Timeout, execTimeout.String()))
	if err != nil {
		return fail(http.StatusUnprocessableEntity, "timeout: "+err.Error()+": such as 30s")
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	output, exit, err := s.Exec(ctx, body.SessionID, body.Command)
	if err != nil {
		return fail(http.StatusConflict, err.Error())
	}
	return reply{http.StatusOK, map[string]any{"output": output, "exit": exit}}
}

func (s *Server) controlFault(r *http.Request) reply {
	var body faultBody
	if refusal := decodeControl(r, &body); refusal != nil {
		return *refusal
	}
	if body.Delay != "" {
		delay, err := time.ParseDuration(body.Delay)
		if err != nil {
			return fail(http.StatusUnprocessableEntity, "delay: "+err.Error()+": such as 2s")
		}
		body.Fault.Delay = delay
	}
	if !body.Fault.Known() {
		return fail(http.StatusUnprocessableEntity, "no such fault: op and kind must be known and fit each other, times must not be negative, status 200 to 599")
	}
	s.Fault(body.Fault)
	return reply{status: http.StatusNoContent}
}

func (s *Server) controlClear(*http.Request) reply {
	s.ClearFaults()
	return reply{status: http.StatusNoContent}
}

func (s *Server) controlSessions(*http.Request) reply {
	return reply{http.StatusOK, map[string]any{"sessions": s.Sessions()}}
}

func (s *Server) controlSession(r *http.Request) reply {
	session := s.Session(r.PathValue("session"))
	if session.ID == "" {
		return fail(http.StatusNotFound, "no such session was ever enqueued")
	}
	return reply{http.StatusOK, session}
}
