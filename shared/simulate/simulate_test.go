package simulate

import "testing"

func TestX(t *testing.T) {
	for seed := range uint64(200) {
		r := Run(Options{Seed: seed, Sessions: 50})
		t.Log(seed, r.Profile, r.Injected(), r.Took, r.Ends)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
}
