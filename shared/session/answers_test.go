package session_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata and the diagram in docs/lifecycle.md anew from the code")

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./shared/session -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("%s differs; if the change is wanted: go test ./shared/session -update (-want +got):\n%s", path, diff)
	}
}

// said is an answer in a few words: what is written, and why.
func said(l *session.Lease, a session.Action) string {
	switch a := a.(type) {
	case session.Wait:
		return "wait: " + a.Why
	case session.Reserve:
		return "reserve"
	case session.ReadEntry:
		return "read entry"
	case session.ReadTasks:
		return "read tasks"
	case session.RunTask:
		return "run task"
	case session.StopTask:
		return "stop task: " + a.Why
	case session.Release:
		return "release"
	case session.Claim:
		if a.Encrypt {
			return "claim, with token"
		}
		return "claim"
	case session.End:
		return fmt.Sprintf("end as %s: %s", a.To.Outcome, a.To.Reason)
	case session.Save:
		var changes []string
		add := func(changed bool, format string, args ...any) {
			if changed {
				changes = append(changes, fmt.Sprintf(format, args...))
			}
		}
		to := a.To
		add(to.State != l.State, "%s", to.State)
		add(to.Outcome != l.Outcome, "as %s", to.Outcome)
		add(to.Verdict != l.Verdict && to.Verdict != "", "verdict %s", to.Verdict)
		add(to.Attempt != l.Attempt, "attempt %d", to.Attempt)
		add(to.Failures != l.Failures, "failures %d", to.Failures)
		add(to.Capacity != l.Capacity, "capacity %s", to.Capacity)
		add(to.TaskARN != l.TaskARN && to.TaskARN != "", "task")
		add(!to.ClaimedAt.Equal(l.ClaimedAt), "claim renewed")
		add(!to.ConnectedAt.Equal(l.ConnectedAt) && !to.ConnectedAt.IsZero(), "connected")
		add(to.Doubt != l.Doubt && to.Doubt.Kind != "", "doubt %s %d", to.Doubt.Kind, to.Doubt.Reads)
		add(to.Doubt != l.Doubt && to.Doubt.Kind == "" && to.State == l.State, "no doubt")
		add(a.Trip != "", "trip %s", a.Trip)
		add(a.Heal != "", "heal %s", a.Heal)
		add(!to.LaunchUntil.Equal(l.LaunchUntil) && !to.LaunchUntil.IsZero(), "launch until +%v", to.LaunchUntil.Sub(to.UpdatedAt))
		add(to.Reason != l.Reason && to.Reason != "", "because: %s", to.Reason)
		return "save: " + strings.Join(changes, ", ")
	}
	return fmt.Sprintf("%T", a)
}

// TestAnswersAreTheOnesReviewed holds the answers to the Views that matter most against testdata/answers.txt, so that a change of rules shows in review as lines
// of that file, and counts the answers to the whole product.
func TestAnswersAreTheOnesReviewed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	out.WriteString("What Next answers. Written by: go test ./shared/session -update\n")
	for _, l := range leases() {
		fmt.Fprintf(&out, "\n# lease: %s\n", l.name)
		at := 70 * time.Second
		if l.make != nil && l.make.State == session.Launching {
			at = 20 * time.Second
		}
		var blocks, order []string
		names := map[string][]string{}
		for _, list := range lists() {
			byAnswer := map[string][]string{}
			for _, e := range entries() {
				v := session.View{Now: after(at), Lease: l.make, Entry: e.make(at), Tasks: list.make(l.make, at), Terms: terms()}
				a := said(l.make, session.Next(v))
				byAnswer[a] = append(byAnswer[a], e.name)
			}
			block := tell("entry", byAnswer)
			if names[block] == nil {
				order = append(order, block)
			}
			names[block] = append(names[block], list.name)
		}
		for _, block := range order {
			what := "tasks " + strings.Join(names[block], " | ")
			if len(order) == 1 {
				what = "any tasks"
			}
			blocks = append(blocks, what+"\n"+block)
		}
		out.WriteString(strings.Join(blocks, ""))
		out.WriteString("after an effect, with the entry ours and running, and no tasks\n")
		byAnswer := map[string][]string{}
		for _, try := range tries() {
			v := session.View{Now: after(at), Lease: l.make, Entry: ours(session.StatusRunning, at), Tasks: tasks(at), Terms: terms(), Try: try.make(at)}
			a := said(l.make, session.Next(v))
			byAnswer[a] = append(byAnswer[a], try.name)
		}
		out.WriteString(tell("", byAnswer))
	}
	counts, _ := survey()
	out.WriteString("\n# answers to the whole product, by state\n")
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&out, "%8d  %s\n", counts[k], k)
	}
	golden(t, filepath.Join("testdata", "answers.txt"), out.String())
}

// tell says which answers are given to what.
func tell(what string, byAnswer map[string][]string) string {
	var out strings.Builder
	for _, a := range slices.Sorted(maps.Keys(byAnswer)) {
		whom := what + " " + strings.Join(byAnswer[a], " | ")
		if len(byAnswer) == 1 {
			whom = "any " + what
		}
		fmt.Fprintf(&out, "    %s → %s\n", strings.TrimSpace(whom), a)
	}
	return out.String()
}
