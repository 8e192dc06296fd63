package ecstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// task is one task. Its fields are under the server's mutex, but for those that never change.
type task struct {
	server     *Server
	seq        int
	id, arn    string
	definition string // family:revision
	d          Definition
	provider   string
	startedBy  string
	overrides  json.RawMessage
	env        map[string]string // of the overrides
	exec       bool              // ECS Exec is enabled
	tags       map[string]string // until it is told to stop
	asked      []byte            // the whole request
	createdAt  time.Time

	status, desired string
	version         int64
	startedAt       time.Time
	stoppingAt      time.Time
	executionEnd    time.Time
	stoppedAt       time.Time
	stopCode        string
	reason          string
	exit            *int
	containerReason string
	noContainers    bool
	noExitCode      bool
	pid             int

	missDescribes, missLists int
	hold                     chan struct{}
	startFailure             *startFailure
	ended, dead              bool
	stopping                 chan struct{} // closed when ECS wants the task to stop
	killed                   chan struct{} // closed when its process is to die at once
	events                   chan Event
}

func (t *task) family() string {
	family, _, _ := strings.Cut(t.definition, ":")
	return family
}

// Death is how a task's life is ended on purpose. Without a Reason its process is killed, and ECS sees only that; else ECS itself ends it: it wants the task
// stopped, and its process gets SIGTERM and time.
type Death struct {
	StopCode        string
	Reason          string
	ContainerReason string
	Abrupt          bool // no SIGTERM and no time
	NoExitCode      bool
}

// Deaths that happen to tasks.
var (
	Crash            = Death{}
	OutOfMemory      = Death{ContainerReason: "OutOfMemoryError: Container killed due to memory usage"}
	SpotInterruption = Death{StopCode: "SpotInterruption", Reason: "Your Spot Task was interrupted."}
	HostLost         = Death{Reason: "Host EC2 (instance i-0123456789abcdef0) terminated.", Abrupt: true, NoExitCode: true}
)

// Kill ends a task's life, and is an error when there is no such task that lives.
func (s *Server) Kill(arn string, d Death) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.find(arn)
	if !ok || t.status == "STOPPED" {
		return fmt.Errorf("kill task %s: no such task lives", arn)
	}
	t.end(d)
	return nil
}

// end begins a task's end. The first reason to stop is the one that is told.
func (t *task) end(d Death) {
	if t.status == "STOPPED" || t.status == "DEPROVISIONING" {
		return
	}
	if d.ContainerReason != "" {
		t.containerReason = d.ContainerReason
	}
	t.noExitCode = t.noExitCode || d.NoExitCode
	if d.Reason != "" && !t.ended {
		t.ended = true
		t.change(func() {
			t.desired, t.stopCode, t.reason, t.stoppingAt = "STOPPED", d.StopCode, d.Reason, t.server.o.Now()
		})
		close(t.stopping)
	}
	if (d.Abrupt || d.Reason == "") && !t.dead {
		t.dead = true
		close(t.killed)
	}
}

// change changes a task's state, and tells of it. The mutex is held.
func (t *task) change(how func()) {
	how()
	t.version++
	if t.server.o.OnEvent != nil {
		t.events <- t.event() // has room for all that a life brings
	}
	close(t.server.changed)
	t.server.changed = make(chan struct{})
}

func (t *task) lock(how func()) {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	how()
}

// live is a task's life, from PROVISIONING to STOPPED.
func (t *task) live() {
	defer t.server.lives.Done()
	defer close(t.events)
	if t.start() {
		t.run()
	}
	t.lock(func() {
		t.executionEnd = t.server.o.Now()
		if t.stopCode == "" && t.reason == "" {
			t.stopCode, t.reason = "EssentialContainerExited", "Essential container in task exited"
		}
		if t.stoppingAt.IsZero() {
			t.stoppingAt = t.executionEnd
		}
		t.change(func() { t.status, t.desired = "DEPROVISIONING", "STOPPED" })
	})
	t.deprovision()
	t.lock(func() {
		t.change(func() { t.status, t.stoppedAt = "STOPPED", t.server.o.Now() })
	})
}

// start takes a task to where its process can start, and says whether it got there.
func (t *task) start() bool {
	if t.hold != nil {
		select {
		case <-t.hold:
		case <-t.stopping:
		case <-t.killed:
		case <-t.server.ctx.Done():
		}
	}
	if !t.pause(t.server.o.Provisioning) {
		return false
	}
	t.lock(func() { t.change(func() { t.status = "PENDING" }) })
	if !t.pause(t.server.o.Pending) {
		return false
	}
	if t.startFailure == nil {
		return true
	}
	t.lock(func() {
		t.stopCode, t.reason = "TaskFailedToStart", t.startFailure.reason
		t.containerReason, t.noContainers = t.startFailure.containerReason, t.startFailure.containerReason == ""
	})
	return false
}

// pause waits on the way to RUNNING, and says whether the task was left in peace.
func (t *task) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.stopping:
	case <-t.killed:
	case <-t.server.ctx.Done():
	}
	select {
	case <-t.stopping:
		return false
	case <-t.killed:
		return false
	default:
		return t.server.ctx.Err() == nil
	}
}

// deprovision waits on the way to STOPPED.
func (t *task) deprovision() {
	timer := time.NewTimer(t.server.o.Deprovisioning)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.server.ctx.Done():
	}
}

// run runs a task's process to its end.
func (t *task) run() {
	p, err := t.launch()
	if err != nil {
		t.lock(func() {
			t.stopCode, t.reason, t.containerReason = "TaskFailedToStart", "Task failed to start", "CannotStartContainerError: "+err.Error()
		})
		return
	}
	t.lock(func() {
		t.change(func() { t.status, t.startedAt, t.pid = "RUNNING", t.server.o.Now(), p.pid })
	})
	exit := t.wait(p)
	t.lock(func() {
		t.pid = 0
		if !t.noExitCode {
			t.exit = &exit
		}
	})
}

// wait waits for a process, passing on what is wanted of it.
func (t *task) wait(p process) int {
	var late <-chan time.Time
	stopping := t.stopping
	for {
		select {
		case exit := <-p.exited:
			return exit
		case <-stopping:
			stopping = nil
			p.terminate()
			timer := time.NewTimer(t.d.StopTimeout)
			defer timer.Stop()
			late = timer.C
			continue
		case <-late:
		case <-t.killed:
		case <-t.server.ctx.Done():
		}
		p.kill()
		return <-p.exited
	}
}
