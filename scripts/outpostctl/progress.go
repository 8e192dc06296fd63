package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// progress is one thing that drain tells: a line for people, or an object a line for machines.
type progress struct {
	At        time.Time  `json:"at"`
	Event     string     `json:"event"` // draining, waiting, stopped, released, not released, not read, drained
	Text      string     `json:"text"`
	Slots     int        `json:"slots_used,omitempty"`
	Leases    []leaseRow `json:"leases,omitempty"`
	Tasks     []string   `json:"tasks,omitempty"`
	SessionID string     `json:"session_id,omitempty"`
	TaskARN   string     `json:"task_arn,omitempty"`
}

// repeatAfter is how long the same news is not told again.
const repeatAfter = time.Minute

// tell tells what is new.
func (r *drain) tell(p progress) {
	p.At = r.t.now().UTC()
	if p.Text == r.told && p.At.Sub(r.when) < repeatAfter {
		return
	}
	r.told, r.when = p.Text, p.At
	if r.t.json {
		_ = json.NewEncoder(r.t.out).Encode(p) // a reader that is gone misses nothing it wants
		return
	}
	fmt.Fprintln(r.t.out, p.At.Local().Format(time.TimeOnly)+"  "+p.Text)
}

// command is how to run another command on the same outposts of the same deployment.
func (t *tool) command(name string, outposts []string) string {
	words := []string{"outpostctl", name}
	if t.stack != "" {
		words = append(words, "--stack", t.stack)
	}
	for _, id := range outposts {
		words = append(words, "--outpost", id)
	}
	return strings.Join(words, " ")
}
