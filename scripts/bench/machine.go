package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine is what the figures were measured on.
type machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	GoVersion string `json:"go"`
	Commit    string `json:"commit"`
}

func thisMachine() machine {
	return machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpu(), Cores: runtime.NumCPU(), GoVersion: runtime.Version(), Commit: commit()}
}

func (m machine) String() string {
	return fmt.Sprintf("%s/%s, %s, %d cores, %s, commit %s", m.OS, m.Arch, m.CPU, m.Cores, m.GoVersion, m.Commit)
}

// cpu is the processor's name, as far as the system tells it.
func cpu() string {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown CPU"
}

func commit() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
