package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/redact"
)

// logged collects log records, each as its message and what a test asks of it.
func logged(t *testing.T, text *bytes.Buffer) []string {
	t.Helper()
	var lines []string
	for line := range bytes.Lines(text.Bytes()) {
		var r struct {
			Msg, Line    string
			GoesOn       bool `json:"goes_on"`
			Lines, Bytes int
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Lines > 0:
			lines = append(lines, fmt.Sprintf("dropped %d lines, %d bytes", r.Lines, r.Bytes))
		case r.GoesOn:
			lines = append(lines, fmt.Sprintf("%d bytes, goes on", len(r.Line)))
		case len(r.Line) > 100:
			lines = append(lines, fmt.Sprintf("%d bytes", len(r.Line)))
		default:
			lines = append(lines, r.Line)
		}
	}
	return lines
}

func TestOutputIsLoggedLineByLineHoweverItIsCut(t *testing.T) {
	t.Parallel()
	for _, step := range []int{1, 3, 7, 1000, 100000} {
		var text bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&text, nil))
		limiter := &Limiter{Log: log, Now: func() time.Time { return time.Unix(0, 0) }, LinesPerSecond: 100, BytesPerSecond: 1 << 20, Burst: 1}
		var secrets redact.Secrets
		secrets.Add("secret")
		o := NewOutput(log, "remote", "stdout", &secrets, limiter)
		written := []byte("one\r\n\ntw" + "secret" + "o\n{\"msg\":\"session ended\"}\n" + strings.Repeat("x", longestLine+200) + "\nthe end")
		for len(written) > 0 {
			n := min(step, len(written))
			if _, err := o.Write(written[:n]); err != nil {
				t.Fatal(err)
			}
			written = written[n:]
		}
		o.Close()
		want := []string{"one", "", "tw[redacted]o", `{"msg":"session ended"}`, fmt.Sprintf("%d bytes, goes on", longestLine), "200 bytes", "the end"}
		if diff := cmp.Diff(want, logged(t, &text)); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", step, diff)
		}
	}
}

func TestWhatIsDroppedIsCountedAndTheFlowComesBack(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	now := time.Unix(0, 0)
	limiter := &Limiter{Log: log, Now: func() time.Time { return now }, LinesPerSecond: 1, BytesPerSecond: 10, Burst: 2}
	o := NewOutput(log, "remote", "stdout", &redact.Secrets{}, limiter)
	say := func(lines ...string) {
		if _, err := o.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	say("a", "b", "c", "dd") // a burst of two lines
	now = now.Add(time.Second)
	say("e", "f")
	now = now.Add(2 * time.Second)
	say("this line is longer than may pass at once", "g")
	now = now.Add(11 * time.Second)
	say("h", "i", "j")
	o.Close()
	limiter.Close()
	want := []string{"a", "b", "dropped 2 lines, 3 bytes", "e", "dropped 2 lines, 42 bytes", "g", "h", "i", "dropped 1 lines, 1 bytes"}
	if diff := cmp.Diff(want, logged(t, &text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
