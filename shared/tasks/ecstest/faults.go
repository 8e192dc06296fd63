package ecstest

import (
	"net/http"
	"time"
)

// Fault is something that goes wrong with calls. With none of Code, Failure and Cut it only delays.
type Fault struct {
	Op      string        // the operation; empty = every one
	Times   int           // for how many calls; 0 = once, negative = until Clear
	Delay   time.Duration // before the call takes effect, or with After before its answer
	After   bool          // the call takes effect, and only its answer goes wrong
	Code    string        // answered as an error, such as ServerException
	Status  int           // of that error; 0 = 400
	Message string
	Failure string // answered as RunTask's failures[], with this reason
	Cut     bool   // the connection is closed without an answer
}

// Throttle refuses calls of an operation as ECS does when there are too many.
func Throttle(op string, times int) Fault {
	return Fault{Op: op, Times: times, Code: "ThrottlingException", Message: "Rate exceeded"}
}

// Texts of ECS.
const (
	NoCapacity  = "Capacity is unavailable at this time. Please try again later or in a different availability zone"
	NoCPU       = "RESOURCE:CPU"
	ImageAbsent = "CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref example/outpost-worker:1: example/outpost-worker:1: not found"
)

type faults struct {
	calls     []Fault
	refused   map[string]string // provider → failures[].reason
	holds     []chan struct{}   // of the next tasks: closed = the task goes on
	starts    []startFailure    // of the next tasks
	describes int               // how often each new task is MISSING
	lists     int               // how often each new task is not listed
	deliver   func(Event) Delivery
}

type startFailure struct{ reason, containerReason string }

// Inject makes calls go wrong. Faults of one operation come one after the other.
func (s *Server) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.calls = append(s.faults.calls, f)
}

// Clear takes back every fault that was injected and is not used up.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.calls = nil
}

// Refuse lets a capacity provider take no task: RunTask answers failures[] with the reason. An empty reason ends that.
func (s *Server) Refuse(provider, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == "" {
		delete(s.faults.refused, provider)
		return
	}
	s.faults.refused[provider] = reason
}

// Hold keeps the next tasks in PROVISIONING, until they are released or stopped.
func (s *Server) Hold(tasks int) (release func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	for range tasks {
		s.faults.holds = append(s.faults.holds, gate)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-gate:
		default:
			close(gate)
		}
	}
}

// FailStart lets the next tasks stop as TaskFailedToStart with a reason, such as ImageAbsent. With a container's reason they have a container, else none.
func (s *Server) FailStart(tasks int, reason, containerReason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range tasks {
		s.faults.starts = append(s.faults.starts, startFailure{reason, containerReason})
	}
}

// Lag lets every new task be MISSING in its first DescribeTasks, and absent from the first ListTasks that it belongs in. Zeros end that.
func (s *Server) Lag(describes, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.describes, s.faults.lists = describes, lists
}

// burden puts on a new task what waits for the next one.
func (f *faults) burden(t *task) {
	t.missDescribes, t.missLists = f.describes, f.lists
	if len(f.holds) > 0 {
		t.hold, f.holds = f.holds[0], f.holds[1:]
	}
	if len(f.starts) > 0 {
		t.startFailure, f.starts = &f.starts[0], f.starts[1:]
	}
}

// next takes the fault of a call, if there is one.
func (f *faults) next(op string) *Fault {
	for i := range f.calls {
		fault := &f.calls[i]
		if fault.Times == 0 || fault.Op != "" && fault.Op != op {
			continue
		}
		if fault.Times > 0 {
			fault.Times--
		}
		taken := *fault
		return &taken
	}
	return nil
}

// inflict does what a fault says, and says whether the call is answered with that.
func (s *Server) inflict(w http.ResponseWriter, r *http.Request, f Fault) bool {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	}
	if f.Cut {
		panic(http.ErrAbortHandler) // the server closes the connection
	}
	if f.Failure != "" {
		respond(w, ran(nil, map[string]any{"reason": f.Failure}), nil)
		return true
	}
	if f.Code == "" {
		return false
	}
	if f.Status == 0 {
		f.Status = http.StatusBadRequest
	}
	respond(w, nil, &fault{status: f.Status, code: f.Code, message: f.Message})
	return true
}
