package life

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/exit"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/fetch"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/settings"
)

// program is what serves the session: devin-remote, or the image's devin command.
type program struct {
	path string
	mode settings.Mode // ModeRemote or ModeCLI
}

// getProgram finds the devin command, or downloads devin-remote, as the mode says.
func (w *Worker) getProgram(ctx context.Context) error {
	if w.settings.Mode != settings.ModeRemote {
		path, err := lookCommand("devin")
		if err == nil {
			w.program = program{path: path, mode: settings.ModeCLI}
			w.Log.Info("serving with the image's devin command", "path", path)
			return nil
		}
		if w.settings.Mode == settings.ModeCLI {
			return exit.With(exit.CannotStart, fmt.Errorf("OUTPOST_MODE is cli, but the image has no devin command: %w", err))
		}
	}
	suffix, err := fetch.Suffix(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	distribution := fetch.Distribution{Base: string(w.settings.Static), Client: fetch.NewClient(), Log: w.Log, Wait: wait, MaxBytes: fetch.MaxBytes}
	defer distribution.Client.CloseIdleConnections()
	path, err := distribution.Remote(ctx, string(w.settings.Commit), suffix, w.paths.Remote)
	if errors.Is(err, fetch.ErrMismatch) {
		return exit.With(exit.Mismatch, err)
	}
	w.program = program{path: path, mode: settings.ModeRemote}
	return err
}

func lookCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arguments and environment are as the vendor documents them for devin-remote, and as its Kubernetes operator sets them for
// the devin command. The command serves just this session because its session token is set.
func (w *Worker) arguments() []string {
	if w.program.mode == settings.ModeCLI {
		return []string{"worker", "start", "--session", string(w.settings.SessionID)}
	}
	return []string{"serve"}
}

func (w *Worker) variables() []string {
	s := w.settings
	v := []string{"DEVIN_OUTPOST_GATEWAY_URL=" + string(s.Gateway), "DEVIN_REMOTE_STATE_DIR=" + w.paths.State}
	if w.program.mode == settings.ModeCLI {
		v = append(v, "DEVIN_REMOTE_SESSION_TOKEN="+w.token)
		if s.Commit != "" {
			v = append(v, "DEVIN_WORKER_REMOTE_SHA="+string(s.Commit))
		}
	} else {
		v = append(v, "DEVIN_OUTPOST_CONNECT_TOKEN="+w.token, "DEVIN_OUTPOST_SESSION_ID="+string(s.SessionID))
	}
	if w.chrome != "" {
		v = append(v, "DEVIN_CHROME_PATH="+w.chrome)
	}
	if s.Desktop {
		v = append(v, "DEVIN_OUTPOST_DESKTOP=true")
	}
	if s.PassTaskRole && s.CredentialURI != "" {
		v = append(v, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI="+s.CredentialURI, "AWS_REGION="+string(s.Region))
	}
	return v
}
