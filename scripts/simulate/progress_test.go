package main

import (
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/simulate"
	"github.com/google/go-cmp/cmp"
)

func TestLongRunTellsHowFarItIsAndWhatBrokeARule(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	began := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	p := progress{of: 4, began: began, told: began, out: &out}
	bad := simulate.Report{Options: simulate.Options{Seed: 7}, Violations: []simulate.Violation{{Rule: "a rule"}}}
	for i, r := range []simulate.Report{{}, bad, {}, {}} {
		p.add(r, began.Add(time.Duration(i+1)*6*time.Second))
	}
	want := "seed 7 broke a rule: a rule\n2 of 4 seeds, 1 broke a rule, 0 seeds a second, about 12s left\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
