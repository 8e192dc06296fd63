package simulate

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestX(t *testing.T) {
	from, _ := strconv.ParseUint(os.Getenv("FROM"), 10, 64)
	n, _ := strconv.ParseUint(os.Getenv("N"), 10, 64)
	for seed := from; seed < from+n; seed++ {
		o := Options{Seed: seed, Sessions: 50}
		r := Run(o)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s: %s", seed, r.Profile, v)
		}
		if n == 1 && len(r.Violations) > 0 {
			o.Trace = r.Violations[0].Session
			r = Run(o)
			for _, l := range r.Transcript {
				fmt.Println(l)
			}
		}
	}
}
