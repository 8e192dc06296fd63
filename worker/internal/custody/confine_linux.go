package custody

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

const descriptors = "/proc/self/fd"

// granted is what Docker grants a container's root by default; ECS grants no more. A session with sudo may have these back.
var granted = map[uintptr]bool{
	unix.CAP_CHOWN: true, unix.CAP_DAC_OVERRIDE: true, unix.CAP_FOWNER: true, unix.CAP_FSETID: true, unix.CAP_KILL: true,
	unix.CAP_SETGID: true, unix.CAP_SETUID: true, unix.CAP_SETPCAP: true, unix.CAP_NET_BIND_SERVICE: true, unix.CAP_NET_RAW: true,
	unix.CAP_SYS_CHROOT: true, unix.CAP_MKNOD: true, unix.CAP_AUDIT_WRITE: true, unix.CAP_SETFCAP: true,
}

func seal() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Adopt makes orphaned descendants of the session children of this process, as they are anyway when it is PID 1, so that
// they can be reaped and, at the end, found.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	return nil
}

// Confine takes from the calling thread, and thereby from every process it starts, the ways to gain privileges. The thread
// must be locked to its goroutine and must never be given back. Without sudo nothing can be gained at all; with it, at most
// what Docker grants by default. dropped says that the session gets a user of its own; otherwise it keeps what it has.
func Confine(sudo, dropped bool) error {
	if dropped {
		for capability := uintptr(0); capability <= 63; capability++ {
			if sudo && granted[capability] {
				continue
			}
			err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
			if errors.Is(err, unix.EINVAL) {
				break // the kernel knows no higher one
			}
			if err != nil && sudo {
				return fmt.Errorf("take capability %d from the session: %w", capability, err)
			}
			// Without CAP_SETPCAP the set cannot shrink; no_new_privs keeps the session from drawing on it.
		}
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return fmt.Errorf("clear ambient capabilities: %w", err)
		}
	}
	if sudo {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// Attributes are those of a session's process: a group of its own, the user it belongs to (nil: ours), and an end when the
// thread that started it ends.
func Attributes(as *Account) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	attributes.Credential = as.credential()
	return attributes
}
