package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const templates = "../../infra/stack/testdata/"

func of(t *testing.T, name string, change func(string) string) estimate {
	t.Helper()
	text, err := os.ReadFile(templates + name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := read([]byte(change(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	var p prices
	if err := json.Unmarshal(priceList, &p); err != nil {
		t.Fatal(err)
	}
	return d.estimate(p)
}

func asItIs(text string) string { return text }

func polled(text string) string {
	return strings.ReplaceAll(text, `\"dispatch\":\"watch\"`, `\"dispatch\":\"poll\"`)
}

func TestIdleCostsWhatTheReadmePromises(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(string) string
		most   line
	}{"watch": {asItIs, line{Alone: 2, Shared: 7}}, "poll": {polled, line{Alone: 2, Shared: 3}}} {
		if got := of(t, "default.template.json", test.change).IdleTotal; got.Alone > test.most.Alone || got.Shared > test.most.Shared {
			t.Errorf("%s: %.2f and %.2f USD a month, want at most %.2f and %.2f", name, got.Alone, got.Shared, test.most.Alone, test.most.Shared)
		}
	}
}

func TestWatchingCostsMoreThanPolling(t *testing.T) {
	t.Parallel()
	watch, poll := of(t, "default.template.json", asItIs).IdleTotal, of(t, "default.template.json", polled).IdleTotal
	if watch.Shared < poll.Shared+3 {
		t.Errorf("watch %+v, poll %+v", watch, poll)
	}
}

func TestSessionHoursAreTheMachinesOfTheTemplate(t *testing.T) {
	t.Parallel()
	got := of(t, "fullest.template.json", asItIs).SessionHours
	want := []hour{
		// 4 × 0.03238 + 16 × 0.00356 + 80 × 0.000111; behind NAT, so without an address.
		{"outpost_env-one", "4 vCPU, 16 GB, arm64", 0.19536, 0.064824},
		{"outpost_env-three", "2 vCPU, 8 GB, x86_64", 0.11763, 0.036066},
		{"outpost_env-two", "2 vCPU, 8 GB, x86_64", 0.11652, 0.034956},
	}
	equal := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
}

func TestNATAndEndpointsAreSeen(t *testing.T) {
	t.Parallel()
	costs := map[string]float64{}
	for _, l := range of(t, "fullest.template.json", asItIs).Idle {
		costs[l.What] = l.Shared
	}
	if costs["NAT gateway"] != 730*0.045 || costs["VPC endpoints"] != 10*730*0.01 {
		t.Errorf("NAT %v, endpoints %v", costs["NAT gateway"], costs["VPC endpoints"])
	}
}

func TestATemplateOfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := read([]byte(`{"Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}}`)); err == nil || !strings.Contains(err.Error(), "is it a template of this stack?") {
		t.Errorf("got %v", err)
	}
}

func TestCommandPrintsMarkdownAndJSON(t *testing.T) {
	t.Parallel()
	var text, object bytes.Buffer
	if err := run(options{Template: templates + "default.template.json"}, &text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "| KMS key | 1.00 | 1.00 |") || !strings.Contains(text.String(), "| outpost_env-example: 2 vCPU, 8 GB, x86_64 | 0.123 |") {
		t.Errorf("printed:\n%s", &text)
	}
	if err := run(options{Template: templates + "default.template.json", JSON: true}, &object); err != nil {
		t.Fatal(err)
	}
	var e estimate
	if err := json.Unmarshal(object.Bytes(), &e); err != nil || e.IdleTotal.Shared == 0 {
		t.Errorf("printed %s: %v", &object, err)
	}
}
