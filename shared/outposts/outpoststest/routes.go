package outpoststest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// reply is an answer of the API.
type reply struct {
	status int
	body   any // nil = none
}

func (a reply) write(w http.ResponseWriter) {
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		panic("outpoststest: " + err.Error()) // our own types always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no answer
}

func fail(status int, detail string) reply {
	return reply{status, map[string]string{"detail": detail}}
}

// invalid is how the service refuses a parameter or a field: with a list.
func invalid(where, name, message string) reply {
	return reply{http.StatusUnprocessableEntity, map[string]any{
		"detail": []map[string]any{{"loc": []string{where, name}, "msg": message, "type": "value_error"}},
	}}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	session := func(r *http.Request) string { return r.PathValue("session") }
	none := func(*http.Request) string { return "" }

	list := s.faulty(OpList, none, s.api(s.list, "outpost", "phase", "acceptor_id", "first", "cursor"))
	watch := s.faulty(OpWatch, none, s.watch)
	mux.HandleFunc("GET "+prefix+"/devins", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			watch(w, r)
		} else {
			list(w, r)
		}
	})
	mux.HandleFunc("GET "+prefix+"/devins/{session}", s.faulty(OpGet, session, s.api(s.get)))
	mux.HandleFunc("POST "+prefix+"/devins/{session}/claim", s.faulty(OpClaim, session, s.api(s.claim)))
	mux.HandleFunc("POST "+prefix+"/devins/{session}/release", s.faulty(OpRelease, session, s.api(s.release)))
	collection := prefix
	if s.options.DocumentedOutposts {
		collection += "/outposts"
	}
	mux.HandleFunc("GET "+collection, s.faulty(OpOutposts, none, s.api(s.listOutposts, "first", "after")))
	mux.HandleFunc("GET /gateway", s.faulty(OpGateway, func(r *http.Request) string { return r.URL.Query().Get("session") }, s.gateway))
	mux.HandleFunc("GET "+remotePath+"/{file}", s.faulty(OpDistribution, none, s.distribute))
	s.routeControl(mux)
	return mux
}

// api checks the token and the names of the query parameters before answer.
func (s *Server) api(answer func(*http.Request, Fault) reply, parameters ...string) func(http.ResponseWriter, *http.Request, Fault) {
	return func(w http.ResponseWriter, r *http.Request, fault Fault) {
		if refusal := s.admit(r, parameters); refusal != nil {
			refusal.write(w)
			return
		}
		answer(r, fault).write(w)
	}
}

func (s *Server) admit(r *http.Request, parameters []string) *reply {
	if !s.authorized(r) {
		refusal := fail(http.StatusUnauthorized, "invalid or missing bearer token")
		return &refusal
	}
	for name := range r.URL.Query() {
		if !slices.Contains(parameters, name) {
			refusal := invalid("query", name, fmt.Sprintf("unknown parameter, none of %q", parameters))
			return &refusal
		}
	}
	return nil
}

func (s *Server) authorized(r *http.Request) bool {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return bearer && token == s.Token()
}
