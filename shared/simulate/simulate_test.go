package simulate

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var seeds = flag.Int("seeds", 2000, "how many seeds to simulate, with 50 sessions each")

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // worlds are made and thrown away
	os.Exit(m.Run())
}

// clean fails the test for every rule that is broken in these worlds.
func clean(t *testing.T, opts Options, n int) Total {
	t.Helper()
	total := Seeds(opts, n, nil)
	for i, r := range total.Failed {
		replay := r.Options.Command()
		if opts.edit != nil { // the command knows only the worlds as their seeds draw them
			replay = "go test ./shared/simulate -run '^" + t.Name() + "$'"
		}
		t.Errorf("seed %d (%s): %s\nreplay: %s", r.Options.Seed, r.Profile, r.Violations[0], replay)
		if i == 0 {
			small := Shrink(r)
			t.Logf("the smallest world that was found: %s\n%s", small.Options.Command(), strings.Join(small.Transcript, "\n"))
		}
	}
	return total
}

func TestNothingIsLostServedTwiceLeakedOrLeftRunningUnderFaults(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 200)
	}
	began := time.Now()
	total := clean(t, Options{Seed: 1, Sessions: 50}, n)
	for _, f := range Faults {
		if n >= 200 && total.Faults[f] == 0 {
			t.Errorf("the fault %s was never injected", f)
		}
	}
	t.Logf("%d seeds, %d sessions, %d faults injected, %d violations, in %s", total.Seeds, total.Sessions, total.Injected(), total.Violations, time.Since(began).Round(time.Second))
}

func TestSeedReplaysExactly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		opts := Options{Seed: seed, Sessions: 20, Trace: "*"}
		if diff := cmp.Diff(Run(opts), Run(opts), cmp.AllowUnexported(Options{}), cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".wrap" || p.Last().String() == ".edit"
		}, cmp.Ignore())); diff != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}

// fair is weather in which nothing goes wrong but that some functions never run.
func fair(absent ...string) func(*plan) {
	return func(p *plan) {
		*p = plan{profile: "fair", config: p.config, arrivals: p.arrivals, calmAfter: p.calmAfter, limit: p.limit, width: p.width, watched: p.watched, absent: absent}
	}
}

func TestSweepAloneCompletesEveryLife(t *testing.T) {
	t.Parallel()
	total := clean(t, Options{Seed: 1, Sessions: 40, edit: fair("poll", "claim", "observe")}, 60)
	if total.Ends["completed"] < 500 || total.Ends["suspended"] < 500 {
		t.Errorf("leases ended: %v", total.Ends)
	}
}

func TestSweepAloneCompletesEveryLifeUnderFaults(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1000, Sessions: 30, edit: func(p *plan) { p.absent, p.broken = []string{"claim", "observe"}, nil }}, 100)
}

func TestOrdinaryLifeEndsWithoutSweep(t *testing.T) {
	t.Parallel()
	total := clean(t, Options{Seed: 1, Sessions: 40, edit: fair("sweep")}, 60)
	if total.Ends["completed"] < 500 || total.Ends["suspended"] < 500 {
		t.Errorf("leases ended: %v", total.Ends)
	}
}

func TestAnyOneFunctionMayBeBrokenForGood(t *testing.T) {
	t.Parallel()
	for _, function := range []string{"poll", "claim", "observe"} {
		clean(t, Options{Seed: 1, Sessions: 40, edit: fair(function)}, 25)
	}
}
