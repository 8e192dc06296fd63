package serve

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// PeakMemory is the most memory that the container used at once, in bytes; where it is not PID 1 of one, that of the largest process
// of the session. Zero means unknown.
func PeakMemory() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil || os.Getpid() != 1 {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return n
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // getrusage(2): bytes there, kilobytes on Linux
	}
	return int64(usage.Maxrss) << 10
}
