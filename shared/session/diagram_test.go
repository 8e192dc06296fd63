package session_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// The marks between which docs/lifecycle.md holds what is derived from the code.
const (
	derivedBegins = "<!-- derived from shared/session by: go test ./shared/session -update -->\n"
	derivedEnds   = "<!-- end of what is derived -->\n"
)

// edge is a change of state that some View asks for.
type edge struct{ from, to session.State }

// survey goes through the whole product once: how often each state is answered with each action, and which changes of state are asked for and why.
var survey = sync.OnceValues(func() (counts map[string]int, changes map[edge]map[string]bool) {
	counts, changes = map[string]int{}, map[edge]map[string]bool{}
	for _, l := range leases() {
		state := "none"
		if l.make != nil {
			state = string(l.make.State)
		}
		product(l, func(p point, v session.View) {
			a := session.Next(v)
			counts[fmt.Sprintf("%-10s %s", state, strings.TrimPrefix(fmt.Sprintf("%T", a), "session."))]++
			var to session.Lease
			switch a := a.(type) {
			case session.Reserve:
				to = a.To
			case session.Save:
				to = a.To
			case session.End:
				to = a.To
			default:
				return
			}
			from := session.None
			if l.make.Active() {
				from = l.make.State
			}
			if from == to.State || v.Entry.Status == "hibernating" || p.tasks == "stopped for no known reason" { // what AWS and Devin do not say today
				return
			}
			e := edge{from, to.State}
			if changes[e] == nil {
				changes[e] = map[string]bool{}
			}
			changes[e][why(v, to)] = true
		})
	}
	return counts, changes
})

// why says for which reason a lease changes its state.
func why(v session.View, to session.Lease) string {
	as := string(to.Outcome)
	if to.Outcome == session.Undecided && to.Verdict != session.NoVerdict {
		as = "attempt " + map[session.Verdict]string{session.CleanExit: "ended clean", session.Failed: "failed", session.Interrupted: "interrupted", session.StoppedByUs: "stopped by us"}[to.Verdict]
	}
	reason := to.Reason
	switch {
	case to.State == session.Reserved:
		reason = "the session waits, and a slot is free"
	case to.State == session.Claimed:
		reason = "the claim is granted"
	case to.State == session.Launching && v.Lease.State == session.Stopping:
		reason = "the session goes on, within the budget, and the claim is renewed"
	case to.State == session.Launching:
		reason = "the attempt has its name, capacity choice and limit"
	case to.State == session.Running:
		reason = "ECS says RUNNING"
	case slices.ContainsFunc(v.Tasks.List, func(t session.Task) bool { return named1(v.Lease, t) && t.Exit != nil }) && to.Outcome == session.Undecided:
		reason = "the task stopped"
	case to.State == session.Ended && v.Lease.State == session.Stopping:
		as, reason = "the outcome that stopping wrote", "the claim is released"
		if !v.Terms.Known {
			reason = "the outpost has left the configuration, so that its claim runs out by itself"
		}
	case v.Try.Reason != "" && reason == v.Try.Reason:
		reason = map[session.TryKind]string{session.Unservable: "no launch can be built for it, or its token is too long to be encrypted", session.Declined: "ECS declines it in every capacity choice",
			session.Unclear: "the claim, or the encryption of its token, got no answer for two minutes", session.Conflict: "its name is taken by a task that cannot be told"}[v.Try.Kind]
	case v.Try.Kind == session.Granted && reason == v.Try.Grant.Fault:
		reason = "the claim cannot be served, such as for want of a token or gateway"
	}
	if as == "" {
		return reason
	}
	return as + ": " + reason
}

func TestDiagramInTheDocumentationIsTheCodes(t *testing.T) {
	t.Parallel()
	_, found := survey()
	states := append([]session.State{session.None}, allStates...)
	name := func(s session.State) string {
		if s == session.None {
			return "[*]"
		}
		return string(s)
	}
	var graph, table strings.Builder
	graph.WriteString("```mermaid\nstateDiagram-v2\n")
	table.WriteString("| from | to | when |\n| --- | --- | --- |\n")
	seen := 0
	for _, from := range states {
		for _, to := range states {
			reasons := found[edge{from, to}]
			if len(reasons) == 0 {
				continue
			}
			seen++
			fmt.Fprintf(&graph, "    %s --> %s\n", name(from), name(to))
			fmt.Fprintf(&table, "| %s | %s | %s |\n", cell(from), cell(to), strings.Join(slices.Sorted(maps.Keys(reasons)), "<br>"))
		}
	}
	graph.WriteString("    ended --> [*]\n```\n")
	var evidence strings.Builder
	evidence.WriteString("What must be read more than once before it is acted on:\n\n| what is read | how often | at least so far apart |\n| --- | --- | --- |\n")
	session.EachEvidence(func(_ session.DoubtKind, reads int, apart time.Duration, why string) {
		fmt.Fprintf(&evidence, "| %s | %d × | %v |\n", why, reads, apart)
	})
	if seen != len(found) {
		t.Errorf("%d changes of state, of which %d are between known states", len(found), seen)
	}

	path := filepath.Join("..", "..", "docs", "lifecycle.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), derivedBegins)
	_, tail, ok2 := strings.Cut(rest, derivedEnds)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for what is derived", path)
	}
	golden(t, path, head+derivedBegins+"\n"+graph.String()+"\n"+table.String()+"\n"+evidence.String()+"\n"+derivedEnds+tail)
}

func TestTableInThePackageCommentIsTheCodes(t *testing.T) {
	t.Parallel()
	_, found := survey()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range append([]session.State{session.None}, allStates...) {
		var leaves []string
		for _, to := range allStates {
			if from != session.Ended && len(found[edge{from, to}]) > 0 {
				leaves = append(leaves, string(to))
			}
		}
		name := string(from)
		switch from {
		case session.None:
			name = "(none)"
		case session.Ended: // as good as none, to the core
			leaves = []string{"reserved (a resume)"}
		}
		row := regexp.MustCompile(`(?m)^//\t` + regexp.QuoteMeta(name) + ` .*  ([^ ].*)$`).FindSubmatch(text)
		if row == nil || string(row[1]) != strings.Join(leaves, ", ") {
			t.Errorf("%s leaves for %s; the package comment says %q", name, strings.Join(leaves, ", "), row)
		}
	}
}

func cell(s session.State) string {
	if s == session.None {
		return "(none)"
	}
	return "`" + string(s) + "`"
}
