package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// residentPeak is the largest resident size so far, in bytes, of the process that runs a binary; 0 where there is no /proc.
// What the process's end reports (ru_maxrss) will not do: on Linux it is never less than the size of the process that started it, which here is the larger.
func residentPeak(binary string) int64 {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return 0
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != binary {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(link), "status"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes a number
				return kib * 1024
			}
		}
	}
	return 0
}
