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
// While one runs, nothing else in the process may wait for a child (os/exec does).
type Reaper struct {
	mu      sync.Mutex // held while a process starts, so that none is reaped before it is known
	waiting map[int]chan<- syscall.WaitStatus
	orphans int
	signals chan os.Signal
	done    chan struct{}
}

// NewReaper starts reaping.
func NewReaper() *Reaper {
	r := &Reaper{waiting: map[int]chan<- syscall.WaitStatus{}, signals: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go func() {
		defer close(r.done)
		for range r.signals {
			r.reap()
		}
	}()
	return r
}

// Close ends the reaping and says how many orphans were reaped.
func (r *Reaper) Close() (orphans int) {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.done
	return r.orphans
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
			} else {
				r.orphans++
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
