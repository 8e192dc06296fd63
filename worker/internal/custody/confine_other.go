//go:build !linux

package custody

import "syscall"

const descriptors = "/dev/fd"

// What follows has no counterpart outside Linux; there a worker serves the demo and development only.

func seal() error { return nil }

// Adopt does nothing outside Linux.
func Adopt() error { return nil }

// Confine does nothing outside Linux.
func Confine(sudo, dropped bool) error { return nil }

// Attributes are those of a session's process: a group of its own, and the user it belongs to (nil: ours).
func Attributes(as *Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
}
