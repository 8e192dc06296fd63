package life

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/exit"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/readiness"
	"github.com/devin-outposts/devin-outposts-aws/worker/internal/settings"
)

// checkMachine looks whether the machine is fit, and logs one line for each check.
func (w *Worker) checkMachine(ctx context.Context) error {
	s := w.settings
	machine := readiness.Here(w.Now)
	machine.Gateway, machine.Static, machine.Workdir = string(s.Gateway), string(s.Static), string(s.Workdir)
	machine.Chrome, machine.GPU = string(s.ChromePath), settings.WantsGPU(s.GPU)
	outcomes := machine.Inspect(ctx)
	for _, c := range outcomes {
		level := map[readiness.Status]slog.Level{readiness.Pass: slog.LevelInfo, readiness.Warn: slog.LevelWarn, readiness.Fail: slog.LevelError}[c.Status]
		fields := []any{"check", c.Name, "status", c.Status, "detail", c.Detail}
		if c.Advice != "" {
			fields = append(fields, "advice", c.Advice)
		}
		w.Log.Log(ctx, level, "machine checked", fields...)
	}
	w.chrome = machine.FindChrome()
	if fit, why := readiness.Fit(outcomes); !fit {
		return fmt.Errorf("the machine is not fit: %s: %s; %s", why.Name, why.Detail, why.Advice)
	}
	return nil
}

// Doctor makes the same checks by hand, for as much of environ as is set, and prints them to out.
func Doctor(ctx context.Context, environ []string, now func() time.Time, out io.Writer, asJSON bool) exit.Code {
	s, err := settings.ParseDoctor(environ)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.BadSettings
	}
	machine := readiness.Here(now)
	machine.Gateway, machine.Static, machine.Workdir = string(s.Gateway), string(s.Static), string(s.Workdir)
	machine.Chrome, machine.GPU = string(s.ChromePath), settings.WantsGPU(s.GPU)
	outcomes := machine.Inspect(ctx)
	write := readiness.WriteTable
	if asJSON {
		write = readiness.WriteJSON
	}
	if err := write(out, outcomes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.Unfit
	}
	if fit, _ := readiness.Fit(outcomes); !fit {
		return exit.Unfit
	}
	return exit.Over
}
