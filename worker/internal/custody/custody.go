// Package custody keeps what a worker holds (the connect token, the key to the task's AWS role) away from the session it
// serves. A worker makes itself unreadable first of all (Seal), runs the session as another user (Find, Create), in an
// environment made from nothing (Environ), and in a thread whose privileges can only shrink (Confine).
package custody

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// files that a session may have open at once, where the machine allows as many
const openFiles = 65536

// Seal hides this process from the others: not even root, unless it has CAP_SYS_PTRACE, can read its memory, environment or
// descriptors through /proc (on Linux; prctl(2), PR_SET_DUMPABLE). It also leaves no core file behind. It must be called
// before the process holds any secret.
func Seal() error {
	if err := seal(); err != nil {
		return fmt.Errorf("make the worker undumpable: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	return nil
}

// CheckHost refuses a host that undoes Seal: with fs.suid_dumpable=1 the kernel makes a process readable again whenever a
// process that shares its memory changes user, as a child does on its way to becoming the session (proc(5) calls that
// setting insecure, for debugging only). root is the root of the file system.
func CheckHost(root fs.FS) error {
	text, err := fs.ReadFile(root, "proc/sys/fs/suid_dumpable")
	if err == nil && strings.TrimSpace(string(text)) == "1" {
		return errors.New("the host has fs.suid_dumpable=1, which lets a session read the worker's memory: set it to 0 or 2")
	}
	return nil // another system, or a container without /proc/sys
}

// Limit bounds the open files of every process started from here on. (The number of processes is bounded by the task: a limit
// of ours would count those of other containers that use the same user id.)
func Limit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Max = min(limit.Max, openFiles)
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	return nil
}

// CloseInherited makes sure that no descriptor but the standard three reaches a child. Those that Go opens are closed by
// themselves; those that the worker was started with are not.
func CloseInherited() error {
	open, err := os.ReadDir(descriptors)
	if err != nil {
		return fmt.Errorf("list open descriptors: %w", err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
