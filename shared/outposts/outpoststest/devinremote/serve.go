package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

const (
	attempts   = 6                      // to dial, before the connection counts as lost for good
	firstPause = 100 * time.Millisecond // between two of them; doubles
	afterStop  = 200 * time.Millisecond // what a stop request takes
	mostOutput = 1 << 20                // bytes of a command's output that are sent
)

type remote struct {
	gateway, token, session string
}

// errEnded says that the session is over or sleeps.
var errEnded = errors.New("the session ended")

type refusedError struct{ status int }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the gateway turned us away (%d)", e.status)
}

// serve stays connected until the session ends, ctx ends, or nothing helps.
func (r *remote) serve(ctx context.Context) (int, error) {
	pause := firstPause
	for failed := 0; ; {
		connected, err := r.connection(ctx)
		refused := (*refusedError)(nil)
		switch {
		case errors.Is(err, errEnded):
			return 0, nil
		case ctx.Err() != nil:
			time.Sleep(afterStop) // the real one, too, needs a moment after it was asked to stop
			return 0, nil
		case errors.As(err, &refused) && refused.status != http.StatusConflict && refused.status < 500:
			return exitRefused, err
		}
		if connected {
			failed, pause = 0, firstPause
		}
		if failed++; failed == attempts {
			return exitLost, fmt.Errorf("the connection is lost: %w", err)
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
		}
	}
}

// connection dials once and serves until the connection ends.
func (r *remote) connection(ctx context.Context) (connected bool, err error) {
	conn, response, err := websocket.Dial(ctx, r.gateway+"?session="+url.QueryEscape(r.session), &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + r.token}},
	})
	if err != nil {
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			return false, &refusedError{response.StatusCode}
		}
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() {
		cancel() // kills what runs
		running.Wait()
		_ = conn.CloseNow()
	}()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return true, err
		}
		var message outpoststest.Message
		if err := json.Unmarshal(text, &message); err != nil {
			return true, fmt.Errorf("the gateway sent no message of ours: %w", err)
		}
		switch message.Type {
		case "end":
			cancel() // kills what runs
			running.Wait()
			_ = conn.Close(websocket.StatusNormalClosure, message.Reason)
			return true, errEnded
		case "run":
			running.Go(func() {
				answer, err := json.Marshal(run(ctx, message))
				if err == nil {
					_ = conn.Write(ctx, websocket.MessageText, answer) // a broken connection shows in Read
				}
			})
		}
	}
}

// run runs a command in the working directory, in a process group of its own,
// which dies with ctx.
func run(ctx context.Context, message outpoststest.Message) outpoststest.Message {
	command := exec.CommandContext(ctx, "sh", "-c", message.Command)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	answer := outpoststest.Message{Type: "result", ID: message.ID, Output: string(output[:min(len(output), mostOutput)])}
	if exited := (*exec.ExitError)(nil); ctx.Err() != nil {
		answer.Exit, answer.Error = -1, "killed: the connection or the session ended"
	} else if errors.As(err, &exited) {
		answer.Exit = exited.ExitCode()
	} else if err != nil {
		answer.Exit, answer.Error = -1, err.Error()
	}
	return answer
}
