package settings

import (
	"fmt"
	"slices"
	"strings"
)

// fargateSizes are the task sizes that Fargate sells for Linux, as AWS documents them: for each number of CPU units, memory from low to high in steps, in MiB.
var fargateSizes = []struct{ cpu, low, high, step int }{
	{512, 1024, 4096, 1024},
	{1024, 2048, 8192, 1024},
	{2048, 4096, 16384, 1024},
	{4096, 8192, 30720, 1024},
	{8192, 16384, 61440, 4096},
	{16384, 32768, 122880, 8192},
}

// FargateSizes says in words which sizes are legal, one for each number of CPU units.
func FargateSizes() []string {
	var sizes []string
	for _, size := range fargateSizes {
		sizes = append(sizes, fmt.Sprintf("%d CPU units: %d to %d MiB, in steps of %d", size.cpu, size.low, size.high, size.step))
	}
	return sizes
}

// checkFargateSize leaves out 256 CPU units: a session's tools do not run in half a gibibyte.
func checkFargateSize(problems *Problems, key string, cpu, memory int) {
	var legal []string
	for _, size := range fargateSizes {
		legal = append(legal, fmt.Sprint(size.cpu))
		if size.cpu != cpu {
			continue
		}
		if memory < size.low || memory > size.high || (memory-size.low)%size.step != 0 {
			problems.add("%s.memory: %d MiB is not sold with cpu %d; from %d to %d in steps of %d", key, memory, cpu, size.low, size.high, size.step)
		}
		return
	}
	if !slices.Contains(legal, fmt.Sprint(cpu)) {
		problems.add("%s.cpu: %d is not one of %s", key, cpu, strings.Join(legal, ", "))
	}
}
