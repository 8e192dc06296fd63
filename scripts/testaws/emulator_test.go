//go:build testaws

package testaws

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// runUnderEmulator starts each function under AWS's own emulator of the Lambda runtime, on an empty queue, and looks at what comes back.
func (s *site) runUnderEmulator(t *testing.T) {
	for name, test := range map[string]struct{ payload, want string }{
		"poll":    {`{}`, `null`},
		"claim":   {`{"Records": []}`, `{"batchItemFailures":[]}`},
		"observe": {`{"source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": {"clusterArn": "another", "lastStatus": "RUNNING", "version": 1, "taskArn": "none"}}`, `null`},
		"sweep":   {`{}`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, s.emulate(t, name, test.payload)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func (s *site) emulate(t *testing.T, name, payload string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	front, back := freeAddress(t), freeAddress(t)
	emulator := exec.CommandContext(ctx, os.Getenv("RIE"), "--runtime-interface-emulator-address", front, "--runtime-api-address", back, s.bootstrap(name))
	emulator.Env = []string{"AWS_LAMBDA_FUNCTION_TIMEOUT=60"}
	for key, value := range s.environment(name) {
		emulator.Env = append(emulator.Env, key+"="+value)
	}
	var log bytes.Buffer
	emulator.Stdout, emulator.Stderr, emulator.WaitDelay = &log, &log, time.Second
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		emulator.Wait() //nolint:errcheck // it was killed
	}()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+front+"/2015-03-31/functions/function/invocations", strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil { // it does not listen yet
			select {
			case <-ctx.Done():
				t.Fatalf("the emulator does not answer: %v\n%s", err, &log)
			case <-time.After(20 * time.Millisecond):
				continue
			}
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(answer))
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
