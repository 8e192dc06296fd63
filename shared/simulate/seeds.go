package simulate

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Total is what came of many seeds.
type Total struct {
	Seeds      int
	Sessions   int
	Faults     map[Fault]int
	Violations int
	Failed     []Report // some of those that broke a rule, by seed
	Ends       map[string]int
	Calls      map[string]int
}

// mostFailed bounds how many failed reports are kept.
const mostFailed = 20

// Injected is the number of faults.
func (t Total) Injected() int {
	n := 0
	for _, f := range t.Faults {
		n += f
	}
	return n
}

// Seeds simulates n worlds from the seed of the options on, several at once; each tells its report, in no order. Tell may be nil.
func Seeds(opts Options, n int, tell func(Report)) Total {
	t := Total{Faults: map[Fault]int{}, Ends: map[string]int{}, Calls: map[string]int{}}
	var next atomic.Uint64
	var mu sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					return
				}
				o := opts
				o.Seed += i
				r := Run(o)
				mu.Lock()
				t.add(r)
				if tell != nil {
					tell(r)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.SortFunc(t.Failed, func(a, b Report) int { return cmp.Compare(a.Options.Seed, b.Options.Seed) })
	return t
}

func (t *Total) add(r Report) {
	t.Seeds++
	t.Sessions += r.Sessions
	for f, n := range r.Faults {
		t.Faults[f] += n
	}
	for o, n := range r.Ends {
		t.Ends[o] += n
	}
	for c, n := range r.Calls {
		t.Calls[c] += n
	}
	t.Violations += len(r.Violations)
	if len(r.Violations) > 0 && len(t.Failed) < mostFailed {
		t.Failed = append(t.Failed, r)
	}
}
