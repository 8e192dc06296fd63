package telemetry

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMetricIsOneLineThatCloudWatchReads(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &Recorder{AcceptorID: "acceptor-1", Now: func() time.Time { return time.Date(2026, 2, 3, 10, 0, 0, 5e8, time.UTC) }, Out: &out}
	r.Count("outpost_env-1", Claimed, 2)
	r.Time("outpost_env-1", PickupTime, 1500*time.Millisecond)
	r.Count("", BadOffers, 1)
	want := `{"AcceptorId":"acceptor-1","OutpostId":"outpost_env-1","SessionsClaimed":2,"_aws":{"CloudWatchMetrics":[{"Namespace":"DevinOutposts","Dimensions":[["AcceptorId","OutpostId"]],"Metrics":[{"Name":"SessionsClaimed","Unit":"Count"}]}],"Timestamp":1770112800500}}
{"AcceptorId":"acceptor-1","OutpostId":"outpost_env-1","PickupSeconds":1.5,"_aws":{"CloudWatchMetrics":[{"Namespace":"DevinOutposts","Dimensions":[["AcceptorId","OutpostId"]],"Metrics":[{"Name":"PickupSeconds","Unit":"Seconds"}]}],"Timestamp":1770112800500}}
{"AcceptorId":"acceptor-1","OffersMalformed":1,"_aws":{"CloudWatchMetrics":[{"Namespace":"DevinOutposts","Dimensions":[["AcceptorId"]],"Metrics":[{"Name":"OffersMalformed","Unit":"Count"}]}],"Timestamp":1770112800500}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsWrittenForNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &Recorder{AcceptorID: "acceptor-1", Now: time.Now, Out: &out}
	r.Count("outpost_env-1", Claimed, 0)
	var none *Recorder
	none.Count("outpost_env-1", Claimed, 1)
	none.Time("outpost_env-1", PickupTime, time.Second)
	if out.Len() != 0 {
		t.Errorf("%s", out.String())
	}
}

func TestLinesOfManyAtOnceDoNotMix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &Recorder{AcceptorID: "acceptor-1", Now: time.Now, Out: &out}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { r.Count("outpost_env-1", Launched, 1) })
	}
	all.Wait()
	n := 0
	for line := range bytes.Lines(out.Bytes()) {
		n++
		if !json.Valid(line) {
			t.Errorf("%s", line)
		}
	}
	if n != 50 {
		t.Errorf("%d lines", n)
	}
}

// Every metric that the package declares stands once in Metrics, with a name of its own, a unit that CloudWatch knows and a meaning.
func TestEveryMetricIsDeclaredOnceAndListed(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "metrics.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			if lit, ok := value.(*ast.CompositeLit); ok {
				if kind, ok := lit.Type.(*ast.Ident); ok && kind.Name == "Metric" {
					name, _ := strconv.Unquote(lit.Elts[0].(*ast.BasicLit).Value)
					declared = append(declared, name)
				}
			}
		}
		return true
	})
	var listed []string
	for _, m := range Metrics {
		listed = append(listed, m.Name)
		if m.Unit != "Count" && m.Unit != "Seconds" || strings.HasSuffix(m.Name, "Seconds") != (m.Unit == "Seconds") {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if len(m.Meaning) < 10 || !strings.HasSuffix(m.Meaning, ".") {
			t.Errorf("%s means %q", m.Name, m.Meaning)
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" || len(declared) < 20 {
		t.Errorf("%d are declared (-declared +listed):\n%s", len(declared), diff)
	}
	if len(slices.Compact(listed)) != len(Metrics) {
		t.Error("two metrics have one name")
	}
}

func TestLogIsJSONOfTheLevelAskedFor(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"": 2, "info": 2, "debug": 3, "WARN": 1, "error": 0, "loud": 2} {
		var out bytes.Buffer
		log := NewLogger(&out, "sweep", level)
		log.Debug("seen", "session_id", "devin-1")
		log.Info("claimed", "session_id", "devin-1")
		log.Warn("blocked", "session_id", "devin-1")
		n := 0
		for line := range bytes.Lines(out.Bytes()) {
			n++
			var got map[string]any
			if err := json.Unmarshal(line, &got); err != nil || got["function"] != "sweep" || got["session_id"] != "devin-1" {
				t.Errorf("%s: %v", line, err)
			}
		}
		if n != want {
			t.Errorf("level %q: %d lines, want %d", level, n, want)
		}
	}
}
