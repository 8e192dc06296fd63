package simulate

import "testing"

func BenchmarkWorld(b *testing.B) {
	for i := range b.N {
		Run(Options{Seed: uint64(i), Sessions: 50})
	}
}
