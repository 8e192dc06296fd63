// Command devin-remote stands in for the program of that name wherever the
// simulated service stands in for the real one: it dials the gateway with its
// connect token and runs what it is sent. A worker cannot tell the two apart,
// up to what the session can do.
//
// It exits 0 when the session sleeps or is over, 2 when it is called wrongly,
// 3 when the connection is lost for good, and 4 when the gateway turns it away.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const (
	exitUsage   = 2
	exitLost    = 3
	exitRefused = 4
)

func main() {
	remote, err := fromEnvironment(os.Args[1:], os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "devin-remote:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	code, err := remote.serve(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "devin-remote:", err)
	}
	os.Exit(code)
}

func fromEnvironment(arguments []string, getenv func(string) string) (*remote, error) {
	if len(arguments) != 1 || arguments[0] != "serve" {
		return nil, fmt.Errorf("usage: devin-remote serve")
	}
	r := &remote{
		gateway: getenv("DEVIN_OUTPOST_GATEWAY_URL"),
		token:   getenv("DEVIN_OUTPOST_CONNECT_TOKEN"),
		session: getenv("DEVIN_OUTPOST_SESSION_ID"),
	}
	if r.gateway == "" || r.token == "" || r.session == "" {
		return nil, fmt.Errorf("DEVIN_OUTPOST_GATEWAY_URL, DEVIN_OUTPOST_CONNECT_TOKEN and DEVIN_OUTPOST_SESSION_ID must all be set")
	}
	state := getenv("DEVIN_REMOTE_STATE_DIR")
	if state == "" {
		return nil, fmt.Errorf("DEVIN_REMOTE_STATE_DIR must be set, to a directory of this session's own")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(state, "session"), []byte(r.session+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return r, nil
}
