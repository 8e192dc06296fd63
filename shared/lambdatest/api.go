package lambdatest

import (
	"encoding/json"
	"io"
	"net/http"
)

// maxAnswer is Lambda's limit for what a function may answer: 6 MB.
const maxAnswer = 6 << 20

// api is the runtime API of one instance.
func (i *instance) api() http.Handler {
	mux := http.NewServeMux()
	const base = "/2018-06-01/runtime"
	mux.HandleFunc("GET "+base+"/invocation/next", i.serveNext)
	mux.HandleFunc("POST "+base+"/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		i.finish(w, r, func(body []byte) outcome { return outcome{answer: body} })
	})
	mux.HandleFunc("POST "+base+"/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		i.finish(w, r, func(body []byte) outcome { return outcome{err: i.said(Unhandled, body)} })
	})
	mux.HandleFunc("POST "+base+"/init/error", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		i.mu.Lock()
		i.initErr = i.said(InitError, body)
		i.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

// serveNext holds the request until there is work.
func (i *instance) serveNext(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	if i.init == 0 {
		i.init = i.f.config.Now().Sub(i.began)
	}
	i.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-i.exited:
	case inv := <-i.next:
		i.mu.Lock()
		i.current = inv
		i.mu.Unlock()
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		header.Set("Lambda-Runtime-Deadline-Ms", i.deadline())
		header.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:"+i.f.config.Name)
		header.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000;Sampled=0")
		w.Write(inv.payload) // a process that has ended is seen as such
	}
}

// finish takes the answer to the invocation under way; one to any other is refused, as Lambda does.
func (i *instance) finish(w http.ResponseWriter, r *http.Request, read func([]byte) outcome) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	i.mu.Lock()
	inv := i.current
	if inv == nil || inv.id != r.PathValue("id") {
		i.mu.Unlock()
		http.Error(w, `{"errorType": "InvalidRequestID", "errorMessage": "this invocation is not under way"}`, http.StatusBadRequest)
		return
	}
	i.current = nil
	i.answered++
	i.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	inv.done <- read(body)
}

// said reads an error in the runtime's words.
func (i *instance) said(kind Kind, body []byte) *Error {
	var words struct {
		ErrorType    string `json:"errorType"`
		ErrorMessage string `json:"errorMessage"`
	}
	if json.Unmarshal(body, &words) != nil {
		words.ErrorType, words.ErrorMessage = "Runtime.Unknown", string(body)
	}
	return i.failed(kind, words.ErrorType, words.ErrorMessage)
}
