// Package life is the life of a worker, stage after stage: settings, account, token, workspace, readiness, remote, set-up,
// session. Each stage that fails decides the exit code; a stop ends any of them.
package life

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/exit"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/redact"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/serve"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/settings"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/unseal"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/workspace"
)

// Worker serves one session.
type Worker struct {
	Environ []string // as os.Environ gives it
	Log     *slog.Logger
	Secrets *redact.Secrets // those that Log hides
	Now     func() time.Time
	Version string

	settings settings.Settings
	account  custody.Account
	token    string
	paths    workspace.Paths
	program  program
	chrome   string
	runner   serve.Runner
	phases   []any // name and milliseconds, in turn
}

// Serve lives a session's life until it is over or ctx ends, and returns the exit code.
func (w *Worker) Serve(ctx context.Context) exit.Code {
	w.hideSecrets()
	w.Log.Info("worker started", "version", w.Version)
	parsed, err := settings.Parse(w.Environ)
	var problems settings.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			w.Log.Error("bad setting", "variable", p.Variable, "value", p.Value, "error", p.Error())
		}
		w.Log.Error("session ended", "exit_code", exit.BadSettings, "reason", "the environment is not as it should be; see the lines above")
		return exit.BadSettings
	}
	w.settings = parsed
	w.Log = w.Log.With("outpost_id", parsed.OutpostID, "session_id", parsed.SessionID, "attempt", parsed.AttemptID)
	if !parsed.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = serve.Until(ctx, parsed.Deadline.Sub(w.Now()))
		defer cancel()
	}
	return w.report(w.stages(ctx))
}

// stages runs each stage in turn, and says in its error which exit code the first that failed asks for.
func (w *Worker) stages(ctx context.Context) error {
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
		code exit.Code
	}{
		{"custody", w.takeCustody, exit.Unfit},
		{"account", w.becomeAccount, exit.BadSettings},
		{"decrypt", w.decrypt, exit.CannotDecrypt},
		{"workspace", w.prepare, exit.Unfit},
		{"ready", w.checkMachine, exit.Unfit},
		{"download", w.getProgram, exit.DownloadFailed},
		{"setup", w.setUp, exit.SetupFailed},
		{"serve", w.serveSession, exit.RemoteFailed},
	} {
		if cause := context.Cause(ctx); cause != nil {
			return exit.With(exit.Stopped, cause)
		}
		began := w.Now()
		err := stage.run(ctx)
		w.phases = append(w.phases, stage.name+"_ms", w.Now().Sub(began).Milliseconds())
		if err == nil {
			continue
		}
		if _, coded := errors.AsType[*exit.Error](err); coded {
			return err
		}
		if cause := context.Cause(ctx); cause != nil {
			return exit.With(exit.Stopped, cause)
		}
		return exit.With(stage.code, err)
	}
	return nil
}

// report writes the last line: how the session ended, what each stage took, and how much memory was used.
func (w *Worker) report(err error) exit.Code {
	code := exit.CodeOf(err)
	level, reason := slog.LevelInfo, "the remote ended the session"
	if err != nil {
		reason = err.Error()
	}
	if code != exit.Over && code != exit.Stopped {
		level = slog.LevelError
	}
	fields := append([]any{"exit_code", code, "reason", reason}, w.phases...)
	w.Log.Log(context.Background(), level, "session ended", append(fields, "peak_memory_bytes", serve.PeakMemory())...)
	return code
}

// takeCustody completes what custody.Seal began.
func (w *Worker) takeCustody(context.Context) error {
	syscall.Umask(0o022)
	return errors.Join(custody.CheckHost(os.DirFS("/")), custody.Limit(), custody.CloseInherited(), custody.Adopt())
}

func (w *Worker) decrypt(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("KMS did not answer within a minute"))
	defer cancel()
	s := w.settings
	token, err := unseal.Token(ctx, string(s.Region), string(s.OutpostID), string(s.SessionID), s.Ciphertext)
	if err != nil {
		return err
	}
	w.token = token
	w.Secrets.Add(token)
	return nil
}

func (w *Worker) prepare(context.Context) (err error) {
	w.paths, err = workspace.Prepare(string(w.settings.Workdir), string(w.settings.SessionID), w.account)
	return err
}
