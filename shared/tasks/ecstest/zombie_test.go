package ecstest_test

import (
	"fmt"
	"os"
	"strings"
)

// zombie says whether a process is dead and only waits to be reaped, which nobody may do in a container without an init; Linux only.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	text := string(stat)
	return strings.HasPrefix(text[strings.LastIndexByte(text, ')')+1:], " Z")
}
