package ecstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const targetPrefix = "AmazonEC2ContainerServiceV20141113."

// fault is an error as ECS answers it.
type fault struct {
	status  int
	code    string
	message string
	ids     []string // ConflictException's resourceIds
}

func invalid(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, code: "InvalidParameterException", message: fmt.Sprintf(format, args...)}
}

func client(message string) *fault {
	return &fault{status: http.StatusBadRequest, code: "ClientException", message: message}
}

// ServeHTTP answers one call of the AWS JSON 1.1 protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, isECS := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // the caller is gone
	}
	switch {
	case r.Method != http.MethodPost || !isECS:
		respond(w, nil, &fault{status: http.StatusBadRequest, code: "UnknownOperationException"})
		return
	case r.Header.Get("Authorization") == "":
		respond(w, nil, &fault{status: http.StatusBadRequest, code: "MissingAuthenticationTokenException", message: "Missing Authentication Token"})
		return
	}
	s.mu.Lock()
	s.calls[op]++
	injected := s.faults.next(op)
	s.mu.Unlock()

	if injected != nil && !injected.After {
		if s.inflict(w, r, *injected) {
			return
		}
	}
	answer, refused := s.dispatch(op, body)
	if injected != nil && injected.After {
		if s.inflict(w, r, *injected) {
			return
		}
	}
	respond(w, answer, refused)
}

func (s *Server) dispatch(op string, body []byte) (any, *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, &fault{status: http.StatusInternalServerError, code: "ServerException", message: "The server is closing."}
	}
	s.forget()
	switch op {
	case "RunTask":
		return call(body, s.runTask)
	case "StopTask":
		return call(body, s.stopTask)
	case "DescribeTasks":
		return call(body, s.describeTasks)
	case "ListTasks":
		return call(body, s.listTasks)
	}
	return nil, &fault{status: http.StatusBadRequest, code: "UnknownOperationException"}
}

func call[In any](body []byte, op func(In) (any, *fault)) (any, *fault) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, &fault{status: http.StatusBadRequest, code: "SerializationException", message: err.Error()}
	}
	return op(in)
}

func respond(w http.ResponseWriter, answer any, refused *fault) {
	status := http.StatusOK
	if refused != nil {
		status = refused.status
		said := map[string]any{"__type": refused.code, "message": refused.message}
		if refused.ids != nil {
			said["resourceIds"] = refused.ids
		}
		answer = said
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer) // a caller that is gone needs no answer
}

// epoch and iso are a time as the API and as the events write it.
func epoch(t time.Time) any { return float64(t.UnixMilli()) / 1000 }
func iso(t time.Time) any   { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func (s *Server) arn(kind, rest string) string {
	return "arn:aws:ecs:" + Region + ":" + Account + ":" + kind + "/" + rest
}

// rightCluster says whether a request's cluster is ours; empty is ECS's cluster called default.
func (s *Server) rightCluster(cluster string) *fault {
	if cluster == s.o.Cluster || cluster == s.arn("cluster", s.o.Cluster) || cluster == "" && s.o.Cluster == "default" {
		return nil
	}
	return &fault{status: http.StatusBadRequest, code: "ClusterNotFoundException", message: "Cluster not found."}
}
