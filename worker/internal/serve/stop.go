package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// ErrDeadline is the reason of a stop by OUTPOST_DEADLINE.
var ErrDeadline = errors.New("the session's deadline has come")

// Signalled gives a context that ends at the first stop signal; its cause names the signal. Later signals are logged and change
// nothing: the stop is under way, and its time is bounded.
func Signalled(ctx context.Context, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			if ctx.Err() != nil {
				log.Info("stop signal ignored: already stopping", "signal", s.String())
				continue
			}
			cancel(fmt.Errorf("stopped from outside (%s)", s))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// Until gives a context that ends after left with ErrDeadline.
func Until(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, left, ErrDeadline)
}
