package serve

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/redact"
)

const longestLine = 16 << 10 // bytes; a longer one is logged in pieces

// Limiter bounds how much of the session's output reaches the log, which is paid for by its size. It lets bursts pass: a
// build may print a thousand lines at once, but not all day.
type Limiter struct {
	Log            *slog.Logger
	Now            func() time.Time
	LinesPerSecond float64
	BytesPerSecond float64
	Burst          float64 // seconds' worth that may come at once

	mu           sync.Mutex
	last         time.Time
	lines, bytes float64 // that may pass now
	lostLines    int
	lostBytes    int
	told         time.Time
}

// allow reports whether a line of n bytes may pass. What did not is summed up in the log, at most every ten seconds.
func (l *Limiter) allow(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	if l.last.IsZero() {
		l.lines, l.bytes, l.told = l.LinesPerSecond*l.Burst, l.BytesPerSecond*l.Burst, now
	} else {
		past := now.Sub(l.last).Seconds()
		l.lines = min(l.lines+past*l.LinesPerSecond, l.LinesPerSecond*l.Burst)
		l.bytes = min(l.bytes+past*l.BytesPerSecond, l.BytesPerSecond*l.Burst)
	}
	l.last = now
	if l.lines < 1 || l.bytes < float64(n) {
		l.lostLines++
		l.lostBytes += n
		if now.Sub(l.told) >= 10*time.Second {
			l.tell(now)
		}
		return false
	}
	l.lines--
	l.bytes -= float64(n)
	l.tell(now)
	return true
}

func (l *Limiter) tell(now time.Time) {
	if l.lostLines == 0 {
		return
	}
	l.Log.Warn("output dropped: it came too fast", "lines", l.lostLines, "bytes", l.lostBytes)
	l.lostLines, l.lostBytes, l.told = 0, 0, now
}

// Close tells of what was dropped last.
func (l *Limiter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(l.Now())
}

// Output logs what a process writes, line by line and without secrets. Each line is a log record of its own, so that a
// session cannot forge one of the worker's.
type Output struct {
	log     *slog.Logger
	limiter *Limiter
	hide    *redact.Stream
	line    []byte // not ended yet
}

// NewOutput gives the output of the named process's stream (stdout, stderr).
func NewOutput(log *slog.Logger, process, stream string, secrets *redact.Secrets, limiter *Limiter) *Output {
	o := &Output{log: log.With("process", process, "stream", stream), limiter: limiter}
	o.hide = secrets.Stream(lineWriter{o})
	return o
}

func (o *Output) Write(piece []byte) (int, error) { return o.hide.Write(piece) }

// Close logs the last line, if it did not end.
func (o *Output) Close() {
	_ = o.hide.Flush() // a lineWriter takes everything
	if len(o.line) > 0 {
		o.emit(o.line, false)
		o.line = nil
	}
}

func (o *Output) emit(line []byte, goesOn bool) {
	if !o.limiter.allow(len(line)) {
		return
	}
	record := []any{"line", string(bytes.TrimSuffix(line, []byte("\r")))}
	if goesOn {
		record = append(record, "goes_on", true)
	}
	o.log.Info("output", record...)
}

// lineWriter is where an Output's text arrives once its secrets are gone.
type lineWriter struct{ o *Output }

func (w lineWriter) Write(text []byte) (int, error) {
	o := w.o
	o.line = append(o.line, text...)
	for {
		end := bytes.IndexByte(o.line, '\n')
		switch {
		case end >= 0 && end <= longestLine:
			o.emit(o.line[:end], false)
			o.line = o.line[end+1:]
		case len(o.line) > longestLine:
			o.emit(o.line[:longestLine], true)
			o.line = o.line[longestLine:]
		default:
			o.line = bytes.Clone(o.line)
			return len(text), nil
		}
	}
}
