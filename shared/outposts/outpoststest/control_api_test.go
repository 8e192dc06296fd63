package outpoststest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

func (w world) control(t *testing.T, method, path, body string, into any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.URL()+"/control/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.Token())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return response.StatusCode
}

func TestControlAPIMovesASessionThroughItsLife(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	var queued outpoststest.Session
	if code := w.control(t, "POST", "enqueue", `{"session_id": "devin-1", "platform": "linux", "network_policy": {"enabled": true, "allow": []}}`, &queued); code != 201 {
		t.Fatalf("enqueue: %d", code)
	}
	if diff := cmp.Diff(w.Session("devin-1"), queued); diff != "" {
		t.Error(diff)
	}
	w.remote(t, "devin-1", w.claim(t, "devin-1", "us").Status.ConnectToken)
	w.until(t, "devin-1", "connected", connected)
	var ran struct {
		Output string
		Exit   int
	}
	if code := w.control(t, "POST", "exec", `{"session_id": "devin-1", "command": "echo hi; exit 4", "timeout": "20s"}`, &ran); code != 200 || ran.Output != "hi\n" || ran.Exit != 4 {
		t.Errorf("exec: %d %+v", code, ran)
	}
	for _, step := range []struct{ path, phase, status string }{
		{"suspend", "claimed", "suspended"},
		{"resume", "pending", "pending"},
		{"steal", "claimed", "pending"},
		{"end", "claimed", "terminated"},
		{"vanish", "pending", "terminated"},
	} {
		var now outpoststest.Session
		code := w.control(t, "POST", step.path, `{"session_id": "devin-1"}`, &now)
		if code != 200 || now.Phase != step.phase || now.Status != step.status {
			t.Errorf("%s: %d %+v", step.path, code, now)
		}
	}
	var all struct{ Sessions []outpoststest.Session }
	if code := w.control(t, "GET", "sessions", "", &all); code != 200 || len(all.Sessions) != 1 || all.Sessions[0].Queued {
		t.Errorf("sessions: %d %+v", code, all)
	}
	var one outpoststest.Session
	if code := w.control(t, "GET", "sessions/devin-1", "", &one); code != 200 || one.ID != "devin-1" {
		t.Errorf("session: %d %+v", code, one)
	}
}

func TestControlAPISwitchesFaultsOnAndOff(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	if code := w.control(t, "POST", "fault", `{"op": "get", "kind": "status", "status": 500}`, nil); code != 204 {
		t.Errorf("on: %d", code)
	}
	if got := w.call(t, "GET", "/devins/devin-1", ""); got.code != 500 {
		t.Errorf("with the fault: %d", got.code)
	}
	if code := w.control(t, "DELETE", "fault", "", nil); code != 204 {
		t.Errorf("off: %d", code)
	}
	if got := w.call(t, "GET", "/devins/devin-1", ""); got.code != 200 {
		t.Errorf("without the fault: %d", got.code)
	}
}

func TestControlAPIRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	for _, test := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "enqueue", `{"session": "devin-2"}`, 422},
		{"POST", "enqueue", `{"session_id": "devin-1"}`, 422},
		{"POST", "enqueue", `{"outpost_id": "outpost_env-none"}`, 422},
		{"POST", "enqueue", `{"kind": "hologram"}`, 422},
		{"POST", "enqueue", `{"platform": "beos"}`, 422},
		{"POST", "enqueue", `{"remote_binary_sha": "../x"}`, 422},
		{"POST", "suspend", `{"session_id": "devin-2"}`, 404},
		{"POST", "resume", `{"session_id": "devin-1"}`, 409},
		{"POST", "disconnect", `{"session_id": "devin-1"}`, 409},
		{"POST", "exec", `{"session_id": "devin-1", "command": "true"}`, 409},
		{"POST", "exec", `{"session_id": "devin-1", "command": "true", "timeout": "long"}`, 422},
		{"POST", "fault", `{"op": "get", "kind": "steal"}`, 422},
		{"POST", "fault", `{"op": "got", "kind": "status"}`, 422},
		{"POST", "fault", `{"op": "get", "kind": "status", "status": 42}`, 422},
		{"POST", "fault", `{"op": "get", "kind": "delay", "delay": "long"}`, 422},
		{"GET", "sessions/devin-2", ``, 404},
		{"GET", "elsewhere", ``, 404},
	} {
		if code := w.control(t, test.method, test.path, test.body, nil); code != test.want {
			t.Errorf("%s %s %s: %d, want %d", test.method, test.path, test.body, code, test.want)
		}
	}
	response, err := http.Post(w.URL()+"/control/enqueue", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != 401 {
		t.Errorf("without a token: %d, %v", response.StatusCode, err)
	}
}
