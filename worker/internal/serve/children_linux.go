package serve

import (
	"bytes"
	"os"
	"strconv"
)

// children lists the processes whose parent is this one, ended or not.
func children() []int {
	self := strconv.Itoa(os.Getpid())
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended since
		}
		// proc(5): pid (name) state ppid …; the name may hold anything, a parenthesis too.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == self {
			pids = append(pids, pid)
		}
	}
	return pids
}
