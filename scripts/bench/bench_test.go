package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
)

// measure runs the benchmarks named and answers their tables.
func measure(t *testing.T, o options) []table {
	t.Helper()
	o.JSON = true
	var out bytes.Buffer
	if err := run(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if r.At.IsZero() || r.Machine.Cores < 1 || r.Machine.CPU == "" || !strings.HasPrefix(r.Machine.GoVersion, "go") {
		t.Errorf("the machine is to be told: %+v", r)
	}
	return r.Tables
}

// values are the figures of a table by row and name, those left out that depend on the machine.
func values(t table, keep ...string) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for _, r := range t.Rows {
		out[r.Name] = map[string]float64{}
		for _, f := range r.Figures {
			if slices.Contains(keep, f.Name) {
				out[r.Name][f.Name] = f.Value
			}
		}
	}
	return out
}

func small(only string) options {
	return options{Only: []string{only}, Sessions: 5, Starts: 1, Leases: []int{30, 250}}
}

func TestSweepCallsAWSInBatchesAndReadsEachLeaseOnce(t *testing.T) {
	t.Parallel()
	tables := measure(t, small("sweep"))
	keep := []string{"ListTasks", "DescribeTasks", "claim pages", "renewals", "reads", "writes"}
	want := []map[string]map[string]float64{
		{"30 leases": {"ListTasks": 2, "DescribeTasks": 1, "claim pages": 1, "renewals": 0, "reads": 30, "writes": 0},
			"250 leases": {"ListTasks": 4, "DescribeTasks": 3, "claim pages": 2, "renewals": 0, "reads": 250, "writes": 0}},
		{"30 leases": {"ListTasks": 2, "DescribeTasks": 1, "claim pages": 1, "renewals": 30, "reads": 30, "writes": 30},
			"250 leases": {"ListTasks": 4, "DescribeTasks": 3, "claim pages": 2, "renewals": 250, "reads": 250, "writes": 250}}}
	got := []map[string]map[string]float64{}
	for _, table := range tables {
		got = append(got, values(table, keep...))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if f := tables[0].Rows[1].Figures; f[0].Value <= 0 {
		t.Errorf("no time was measured: %+v", f)
	}
}

func TestSweepCanBeProfiled(t *testing.T) {
	t.Parallel()
	o := small("sweep")
	o.Profile = filepath.Join(t.TempDir(), "cpu")
	measure(t, o)
	for _, name := range []string{o.Profile, o.Profile + ".allocs"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPickupMeasuresEverySession(t *testing.T) {
	t.Parallel()
	tables := measure(t, small("pickup"))
	var names []string
	for _, r := range tables[0].Rows {
		names = append(names, r.Name)
		f := r.Figures
		if f[0].Value <= 0 || f[0].Value > f[1].Value || f[1].Value > f[2].Value || f[2].Value > f[3].Value {
			t.Errorf("%s: median, p90, p99 and worst are not in order: %+v", r.Name, f)
		}
	}
	want := []string{"watch, one by one: queued to claimed", "watch, one by one: claimed to task", "poll, one by one: queued to claimed", "poll, one by one: claimed to task",
		"poll, all at once: queued to claimed", "poll, all at once: claimed to task"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestStartMeasuresTimeAndMemoryOfEachFunction(t *testing.T) {
	t.Parallel()
	tables := measure(t, small("start"))
	if len(tables[0].Rows) != len(laptop.Functions) {
		t.Fatalf("%+v", tables)
	}
	for _, r := range tables[0].Rows {
		memory := r.Figures[3].Value
		if r.Figures[0].Value <= 0 || r.Figures[0].Value > 10000 || memory < 5e6 || memory > 500e6 {
			t.Errorf("%s: %+v", r.Name, r.Figures)
		}
	}
}

func TestSizeTellsArchitectureAndZip(t *testing.T) {
	t.Parallel()
	o := small("size")
	o.Dist = t.TempDir()
	err := run(t.Context(), o, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "run `make build` first, or name the folder with --dist") {
		t.Errorf("nothing is built: %v", err)
	}
	for _, name := range laptop.Functions {
		if err := build(t.Context(), name, filepath.Join(o.Dist, name, "bootstrap"), "GOOS=linux"); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range measure(t, o)[0].Rows {
		plain, zipped := r.Figures[0].Value, r.Figures[1].Value
		if plain < 1e6 || zipped <= 1e5 || zipped >= plain {
			t.Errorf("%s: %+v", r.Name, r.Figures)
		}
	}
}

func TestTextIsATableWithUnits(t *testing.T) {
	t.Parallel()
	r := report{At: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Machine: machine{"linux", "arm64", "Some CPU", 2, "go1.26", "abc"}, Tables: []table{{Bench: "pickup", Title: "two sessions",
		Notes: []string{"A note."}, Rows: []row{{"a", []figure{milliseconds("time", 1500*time.Microsecond), count("calls", 7), megabytes("memory", 12_345_678)}}}}}}
	var out bytes.Buffer
	if err := r.text(&out); err != nil {
		t.Fatal(err)
	}
	want := `2026-05-04 03:02 UTC
linux/arm64, Some CPU, 2 cores, go1.26, commit abc

pickup: two sessions
       time  calls   memory
  a  1.5 ms      7  12.3 MB
  A note.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestNumbersThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), options{Sessions: 0, Starts: 1, Leases: []int{1}}, io.Discard, io.Discard)
	if err == nil || err.Error() != "--sessions is 0, --starts is 1, --leases is [1]: give at least 1 of each" {
		t.Errorf("%v", err)
	}
}
