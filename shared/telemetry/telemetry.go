// Package telemetry writes what the functions tell: JSON log lines (slog) and, among them, metrics in CloudWatch's embedded metric format, which cost no API call.
// Nothing but a heartbeat is written in a minute in which nothing happened, since custom metrics are billed by the hour in which they appear.
package telemetry

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
)

// NewLogger writes JSON lines; level is debug, info, warn or error, info when empty or unknown.
func NewLogger(w io.Writer, function, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})).With("function", function)
}

// Recorder writes metrics. A nil Recorder drops them.
type Recorder struct {
	AcceptorID string
	Now        func() time.Time
	Out        io.Writer

	mu sync.Mutex
}

// Count adds to a counter of the outpost, or, when its id is empty, of none; nothing is written for zero.
func (r *Recorder) Count(outpostID string, m Metric, n int) {
	if n != 0 {
		r.write(outpostID, m, float64(n))
	}
}

// Time records a duration in seconds.
func (r *Recorder) Time(outpostID string, m Metric, d time.Duration) {
	r.write(outpostID, m, d.Seconds())
}

func (r *Recorder) write(outpostID string, m Metric, v float64) {
	if r == nil {
		return
	}
	type unit struct{ Name, Unit string }
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []unit
	}
	values, dimensions := map[string]any{"AcceptorId": r.AcceptorID, m.Name: v}, []string{"AcceptorId"}
	if outpostID != "" { // CloudWatch takes no empty dimension
		values["OutpostId"], dimensions = outpostID, append(dimensions, "OutpostId")
	}
	values["_aws"] = map[string]any{"Timestamp": r.Now().UnixMilli(), "CloudWatchMetrics": []directive{{Namespace, [][]string{dimensions}, []unit{{m.Name, m.Unit}}}}}
	line, err := json.Marshal(values)
	if err != nil {
		return // no such value comes from this program
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.Out.Write(append(line, '\n'))
}
