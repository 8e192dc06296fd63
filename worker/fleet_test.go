package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

var simulatedRemote = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "remote-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := outpoststest.BuildRemote(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// claimed is a session of the fleet simulator, claimed for the worker of a bench.
type claimed struct {
	*bench
	fleet *outpoststest.Server
	id    string
}

// newClaimed queues and claims a session, and prepares the worker that is to serve it as an orchestrator would.
func newClaimed(t *testing.T) claimed {
	t.Helper()
	remote, err := simulatedRemote()
	if err != nil {
		t.Fatal(err)
	}
	fleet := outpoststest.New(outpoststest.Options{Now: time.Now, Binary: remote})
	t.Cleanup(fleet.Close)
	id := fleet.Enqueue(outpoststest.EnqueueOptions{}).ID
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fleet.URL()+"/opbeta/outposts/devins/"+id+"/claim", strings.NewReader(`{"acceptor_id":"a-test"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+fleet.Token())
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var claim struct {
		Status struct {
			ConnectToken string `json:"connect_token"`
			GatewayURL   string `json:"gateway_url"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&claim); err != nil || claim.Status.ConnectToken == "" {
		t.Fatalf("claim: %s, %v", answer.Status, err)
	}
	b := newBench(t, "echo not this one")
	b.env["OUTPOST_ID"], b.env["OUTPOST_SESSION_ID"] = outpoststest.DefaultOutpost, id
	b.env["OUTPOST_GATEWAY_URL"], b.env["OUTPOST_STATIC_URL"], b.env["OUTPOST_REMOTE_SHA"] = claim.Status.GatewayURL, fleet.StaticURL(), ""
	b.reseal(claim.Status.ConnectToken)
	return claimed{b, fleet, id}
}

// serves starts the worker, has a command run in its session, and gives the command's output.
func (c claimed) serves(r *run, command string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.fleet.WaitConnected(ctx, c.id); err != nil {
		_ = r.cmd.Process.Kill()
		r.wait()
		c.t.Fatalf("%v\n%s", err, r.text())
	}
	output, code, err := c.fleet.Exec(ctx, c.id, command)
	if err != nil || code != 0 {
		c.t.Fatalf("%s: exit code %d, %v\n%s", command, code, err, output)
	}
	return output
}

func TestWorkerServesASessionOfTheFleetUntilItEndsOrSleeps(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*outpoststest.Server, string) error{
		"ends":   (*outpoststest.Server).Terminate,
		"sleeps": (*outpoststest.Server).Suspend,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newClaimed(t)
			r := c.start()
			if got := strings.TrimSpace(c.serves(r, "pwd")); got != c.work {
				t.Errorf("commands run in %s, want %s", got, c.work)
			}
			if err := end(c.fleet, c.id); err != nil {
				t.Fatal(err)
			}
			r.expect(0)
			if strings.Contains(r.text(), c.token) {
				t.Errorf("the connect token is in the log:\n%s", r.text())
			}
		})
	}
}
