package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// Command is what replays the options.
func (o Options) Command() string {
	s := fmt.Sprintf("go run ./scripts/simulate --seed %d --seeds 1 --sessions %d", o.Seed, o.Sessions)
	if len(o.Without) > 0 {
		var names []string
		for _, f := range o.Without {
			names = append(names, string(f))
		}
		s += " --without " + strings.Join(names, ",")
	}
	return s
}

// Shrink looks for a smaller world that breaks the same rule: fewer sessions and fewer kinds of fault. What is left out changes chance itself, so that some other
// seeds are tried as well. It answers the report of the smallest world it found, with the transcript of the session.
func Shrink(r Report) Report {
	rule := r.Violations[0].Rule
	best := r
	try := func(o Options) bool {
		o.Trace = ""
		got := Run(o)
		if len(got.Violations) > 0 && got.Violations[0].Rule == rule {
			best = got
			return true
		}
		return false
	}
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		if n >= best.Options.Sessions {
			break
		}
		found := false
		for i := range uint64(20 * 32 / n) {
			o := best.Options
			o.Sessions, o.Seed = n, best.Options.Seed+i
			if found = try(o); found {
				break
			}
		}
		if found {
			break
		}
	}
	for _, f := range Faults {
		if best.Faults[f] > 0 && !slices.Contains(best.Options.Without, f) {
			o := best.Options
			o.Without = append(slices.Clone(o.Without), f)
			try(o)
		}
	}
	o := best.Options
	if o.Trace = best.Violations[0].Session; o.Trace == "" {
		o.Trace = "*"
	}
	return Run(o)
}
