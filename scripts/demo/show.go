package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
)

// show tells the viewer: a table that redraws itself, plain lines, or JSON.
type show struct {
	mode  string // table, plain, json
	now   func() time.Time
	began time.Time

	mu    sync.Mutex
	rows  []row
	lines []string // what was said, newest last
	drawn int      // lines of the table that stand on the screen
}

// row is one session as the viewer sees it.
type row struct {
	Session string  `json:"session"`
	State   string  `json:"state"`
	Attempt int     `json:"attempt"`
	Waiting float64 `json:"waiting_seconds"` // from queued to claimed, or until now
	Running float64 `json:"running_seconds"` // since the worker connected
	Outcome string  `json:"outcome"`
}

func newShow(o options, now func() time.Time) *show {
	s := &show{mode: "table", now: now, began: now()}
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	switch {
	case o.JSON:
		s.mode = "json"
	case o.Plain || !terminal:
		s.mode = "plain"
	}
	return s
}

// note says something that concerns no one session.
func (s *show) note(text string) { s.event("", text) }

// event says something of a session.
func (s *show) event(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.now().Sub(s.began)
	switch s.mode {
	case "json":
		s.json(map[string]any{"at_seconds": at.Seconds(), "session": id, "event": text})
	case "plain":
		fmt.Printf("%6.1fs  %-8s  %s\n", at.Seconds(), id, text)
	default:
		s.lines = append(s.lines, fmt.Sprintf("%6.1fs  %-8s  %s", at.Seconds(), id, text))
		s.draw()
	}
}

func (s *show) json(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }

// update takes the rows as they are now; plain and JSON tell only what changed.
func (s *show) update(rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rows
	s.rows = rows
	if s.mode == "table" {
		s.draw()
		return
	}
	for i, r := range rows {
		if i < len(old) && old[i].State == r.State && old[i].Attempt == r.Attempt && old[i].Outcome == r.Outcome {
			continue
		}
		if s.mode == "json" {
			s.json(map[string]any{"at_seconds": s.now().Sub(s.began).Seconds(), "row": r})
			continue
		}
		fmt.Printf("%6.1fs  %-8s  %s\n", s.now().Sub(s.began).Seconds(), r.Session, describe(r))
	}
}

func describe(r row) string {
	text := r.State
	if r.Outcome != "" {
		text += ": " + r.Outcome
	}
	if r.Attempt > 0 {
		text += fmt.Sprintf(" (attempt %d)", r.Attempt)
	}
	return text
}

// draw replaces the table on the screen. What was said scrolls above it.
func (s *show) draw() {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", s.drawn)
	}
	for _, l := range s.lines {
		b.WriteString(l + "\n")
	}
	s.lines, s.drawn = nil, 0
	if len(s.rows) > 0 {
		fmt.Fprintf(&b, "\n%-10s %-10s %7s %9s %9s  %s\n", "SESSION", "STATE", "ATTEMPT", "WAITING", "RUNNING", "OUTCOME")
		for _, r := range s.rows {
			fmt.Fprintf(&b, "%-10s %-10s %7d %8.1fs %8.1fs  %s\n", r.Session, r.State, r.Attempt, r.Waiting, r.Running, r.Outcome)
		}
		s.drawn = len(s.rows) + 2
	}
	fmt.Print(b.String())
}

// watch samples the sessions until the context ends, and once after.
func watch(ctx context.Context, l *laptop.Laptop, ids []string, s *show) {
	last := context.WithoutCancel(ctx)
	for {
		s.update(sample(last, l, ids, s.now()))
		select {
		case <-ctx.Done():
			s.update(sample(last, l, ids, s.now()))
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sample reads each session's row.
func sample(ctx context.Context, l *laptop.Laptop, ids []string, now time.Time) []row {
	rows := make([]row, 0, len(ids))
	for _, id := range ids {
		f := l.Fleet.Session(id)
		r := row{Session: id, State: "queued"}
		if lease, err := l.Store.Get(ctx, id); err == nil && lease != nil {
			r.State, r.Attempt, r.Outcome = string(lease.State), lease.Attempt, string(lease.Outcome)
		}
		until := now
		if !f.ClaimedAt.IsZero() {
			until = f.ClaimedAt
		}
		r.Waiting = until.Sub(f.EnqueuedAt).Seconds()
		if f.Connected {
			r.Running = now.Sub(f.ConnectedAt).Seconds()
		}
		rows = append(rows, r)
	}
	return rows
}
