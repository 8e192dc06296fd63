package outpoststest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

// remote is a devin-remote as a worker runs it.
type remote struct {
	*exec.Cmd
	dir, state string
	said       *bytes.Buffer
}

func (w world) remote(t *testing.T, sessionID, token string) remote {
	t.Helper()
	path, err := outpoststest.BuildRemote(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := remote{Cmd: exec.CommandContext(t.Context(), path, "serve"), dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), said: &bytes.Buffer{}}
	r.Dir, r.Stderr = r.dir, r.said
	r.Env = []string{
		"PATH=" + os.Getenv("PATH"), "DEVIN_OUTPOST_GATEWAY_URL=" + w.GatewayURL(), "DEVIN_OUTPOST_CONNECT_TOKEN=" + token,
		"DEVIN_OUTPOST_SESSION_ID=" + sessionID, "DEVIN_REMOTE_STATE_DIR=" + r.state,
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

func (r remote) exit(t *testing.T) int {
	t.Helper()
	_ = r.Wait() // its exit code is the result
	if strings.Contains(r.said.String(), "ct_") {
		t.Errorf("the remote tells its token: %s", r.said)
	}
	return r.ProcessState.ExitCode()
}

func (w world) until(t *testing.T, sessionID, what string, holds func(outpoststest.Session) bool) outpoststest.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	now, err := w.Wait(ctx, sessionID, holds)
	if err != nil {
		t.Fatalf("until %s: %v", what, err)
	}
	return now
}

func connected(now outpoststest.Session) bool { return now.Connected }

func TestConnectedWorkerRunsCommandsInItsWorkspaceUntilTheSessionSleeps(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	token := w.claim(t, "devin-1", "us").Status.ConnectToken
	r := w.remote(t, "devin-1", token)
	if now := w.until(t, "devin-1", "connected", connected); now.Status != "running" || now.ConnectedAt.IsZero() {
		t.Errorf("%+v", now)
	}
	output, exit, err := w.Exec(t.Context(), "devin-1", "pwd -P; echo oops >&2; exit 3")
	dir, evalErr := filepath.EvalSymlinks(r.dir)
	if err != nil || evalErr != nil || exit != 3 || output != dir+"\noops\n" {
		t.Errorf("output %q, exit %d, error %v", output, exit, err)
	}
	if text, err := os.ReadFile(filepath.Join(r.state, "session")); err != nil || string(text) != "devin-1\n" {
		t.Errorf("state %q, %v", text, err)
	}
	if err := w.Suspend("devin-1"); err != nil {
		t.Fatal(err)
	}
	if code := r.exit(t); code != 0 {
		t.Errorf("the remote exits %d: %s", code, r.said)
	}
	now := w.until(t, "devin-1", "gone", func(now outpoststest.Session) bool { return !now.Connected })
	if now.Phase != "claimed" || now.Status != "suspended" {
		t.Errorf("%+v", now)
	}
	if _, _, err := w.Exec(t.Context(), "devin-1", "true"); err == nil {
		t.Error("a command ran without a worker")
	}
}

func TestTerminationKillsWhatStillRuns(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	r := w.remote(t, "devin-1", w.claim(t, "devin-1", "us").Status.ConnectToken)
	w.until(t, "devin-1", "connected", connected)
	ran := make(chan error, 1)
	go func() {
		_, _, err := w.Exec(t.Context(), "devin-1", "touch began; sleep 600")
		ran <- err
	}()
	for {
		if output, _, err := w.Exec(t.Context(), "devin-1", "ls"); err != nil || strings.Contains(output, "began") {
			break
		}
	}
	if err := w.Terminate("devin-1"); err != nil {
		t.Fatal(err)
	}
	if code := r.exit(t); code != 0 {
		t.Errorf("the remote exits %d: %s", code, r.said)
	}
	if err := <-ran; err == nil {
		t.Error("ten minutes of sleep ended well")
	}
}

func TestAnyTokenOfTheUnbrokenClaimOpensTheGatewayAndNoOther(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-2"})
	broken := w.claim(t, "devin-1", "us").Status.ConnectToken
	w.release(t, "devin-1", "us")
	first := w.claim(t, "devin-1", "us").Status.ConnectToken
	w.claim(t, "devin-1", "us")
	other := w.claim(t, "devin-2", "us").Status.ConnectToken
	for name, token := range map[string]string{"of the released claim": broken, "of another session": other, "of nobody": "ct_x"} {
		if code := w.remote(t, "devin-1", token).exit(t); code != 4 {
			t.Errorf("with a token %s the remote exits %d", name, code)
		}
	}
	if now := w.Session("devin-1"); now.Refused != 3 || now.Status != "pending" {
		t.Errorf("%+v", now)
	}
	w.remote(t, "devin-1", first)
	w.until(t, "devin-1", "connected", connected)
}

func TestSecondWorkerOfASessionIsTurnedAwayAndTheFirstStays(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	token := w.claim(t, "devin-1", "us").Status.ConnectToken
	first := w.remote(t, "devin-1", token)
	w.until(t, "devin-1", "connected", connected)
	if code := w.remote(t, "devin-1", token).exit(t); code != 3 {
		t.Errorf("the second exits %d", code)
	}
	if now := w.Session("devin-1"); !now.Connected || now.Connections != 1 {
		t.Errorf("%+v", now)
	}
	// When the first one dies, a third one may come.
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.remote(t, "devin-1", token)
	now := w.until(t, "devin-1", "served again", func(now outpoststest.Session) bool { return now.Connected && now.Connections == 2 })
	if now.Status != "running" || now.AcceptorID != "us" {
		t.Errorf("%+v", now)
	}
}

func TestRemoteComesBackAfterALostConnectionAndNotAfterALostClaim(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	r := w.remote(t, "devin-1", w.claim(t, "devin-1", "us").Status.ConnectToken)
	w.until(t, "devin-1", "connected", connected)
	if err := w.Disconnect("devin-1"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "devin-1", "connected again", func(now outpoststest.Session) bool { return now.Connected && now.Connections == 2 })
	if got := w.release(t, "devin-1", "us"); got.code != 204 {
		t.Errorf("release: %d", got.code)
	}
	if code := r.exit(t); code != 4 {
		t.Errorf("the remote exits %d: %s", code, r.said)
	}
	if now := w.Session("devin-1"); now.Phase != "pending" || now.Status != "running" {
		t.Errorf("a running session that was released: %+v", now)
	}
}

func TestGatewayThatRefusesOrIsGoneMakesTheRemoteFail(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	token := w.claim(t, "devin-1", "us").Status.ConnectToken
	w.Fault(outpoststest.Fault{Op: outpoststest.OpGateway, Kind: outpoststest.FaultStatus, Status: 403, Times: 1})
	if code := w.remote(t, "devin-1", token).exit(t); code != 4 {
		t.Errorf("refused, the remote exits %d", code)
	}
	r := w.remote(t, "devin-1", token)
	w.until(t, "devin-1", "connected", connected)
	w.Close()
	if code := r.exit(t); code != 3 {
		t.Errorf("without a gateway the remote exits %d", code)
	}
}

func TestRemoteStopsWhenItIsAsked(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	r := w.remote(t, "devin-1", w.claim(t, "devin-1", "us").Status.ConnectToken)
	w.until(t, "devin-1", "connected", connected)
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := r.exit(t); code != 0 {
		t.Errorf("the remote exits %d: %s", code, r.said)
	}
	if now := w.until(t, "devin-1", "gone", func(now outpoststest.Session) bool { return !now.Connected }); now.Status != "running" || now.Phase != "claimed" {
		t.Errorf("%+v", now)
	}
}

func TestRemoteSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	path, err := outpoststest.BuildRemote(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "serve")
	command.Env = []string{"DEVIN_OUTPOST_GATEWAY_URL=ws://127.0.0.1:1"}
	output, _ := command.CombinedOutput() // its exit code is looked at below
	if command.ProcessState.ExitCode() != 2 || !strings.Contains(string(output), "DEVIN_OUTPOST_CONNECT_TOKEN") {
		t.Errorf("exit %d: %s", command.ProcessState.ExitCode(), output)
	}
}

func TestSessionResumedWhileItsWorkerLeavesLetsItGoInPeace(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{})
	w.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-1"})
	r := w.remote(t, "devin-1", w.claim(t, "devin-1", "us").Status.ConnectToken)
	w.until(t, "devin-1", "connected", connected)
	if err := w.Suspend("devin-1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Resume("devin-1"); err != nil {
		t.Fatal(err)
	}
	if code := r.exit(t); code != 0 {
		t.Errorf("the remote exits %d: %s", code, r.said)
	}
	if now := w.Session("devin-1"); now.Phase != "pending" || now.Status != "pending" || now.Connected {
		t.Errorf("%+v", now)
	}
}
