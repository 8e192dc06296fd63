// Package serve runs a session's processes: it starts them confined, passes their output on, stops them when told to, and
// leaves nothing of them behind. As PID 1 of a container (or, elsewhere, as a subreaper) it also reaps what they orphan.
package serve

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper waits for every child of this process: those it started, whose endings it reports, and orphans that came to it.
// It runs to the end of the process, and nothing else in the process may wait for a child (os/exec does).
type Reaper struct {
	mu      sync.Mutex // held while a process starts, so that none is reaped before it is known
	waiting map[int]chan<- syscall.WaitStatus
}

// NewReaper starts reaping.
func NewReaper() *Reaper {
	r := &Reaper{waiting: map[int]chan<- syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			r.reap()
		}
	}()
	return r
}

// start starts a process; its ending will arrive on the channel.
func (r *Reaper) start(path string, argv []string, attributes *syscall.ProcAttr) (pid int, ending <-chan syscall.WaitStatus, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err = syscall.ForkExec(path, argv, attributes)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = ch
	return pid, ch, nil
}

// reap waits for every child that has ended.
func (r *Reaper) reap() {
	for {
		r.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == nil && pid > 0 {
			if ch, ours := r.waiting[pid]; ours {
				ch <- status
				delete(r.waiting, pid)
			}
		}
		r.mu.Unlock()
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
