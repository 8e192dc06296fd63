package session

import "time"

// Action is the one next thing to do. The set is closed: the driver has one case for each of the types below.
type Action interface{ action() }

// Wait asks for nothing before Until; a zero Until means that only news can bring more to do.
type Wait struct {
	Until time.Time
	Why   string
}

// ReadEntry asks for the session's queue entry.
type ReadEntry struct{}

// ReadTasks asks for the session's tasks, of any attempt, running and stopped.
type ReadTasks struct{}

// Reserve writes the lease and takes a slot of the outpost in one transaction. The driver fills in a fresh Epoch.
type Reserve struct {
	To    Lease
	Probe string // the capacity choice whose open breaker this session probes; empty = none
}

// Claim makes or renews Devin's claim; the answer becomes the View's Try.
type Claim struct {
	Encrypt bool // the connect token is wanted; else the claim is only renewed
}

// Save writes the lease, conditional on the revision that was read.
type Save struct {
	To   Lease
	Trip string // the capacity choice whose breaker opens, for the lease's reason; empty = none
	Heal string // the capacity choice whose breaker closes; empty = none
}

// RunTask launches the lease's attempt; everything in the request comes from the lease and the configuration.
type RunTask struct{}

// StopTask tells a task to stop.
type StopTask struct {
	ARN string
	Why string
}

// Release gives Devin's claim back. That it is no longer ours is as good.
type Release struct{}

// End writes the ended lease and gives the slot back in one transaction, conditional on the revision that was read.
type End struct{ To Lease }

func (Wait) action()      {}
func (ReadEntry) action() {}
func (ReadTasks) action() {}
func (Reserve) action()   {}
func (Claim) action()     {}
func (Save) action()      {}
func (RunTask) action()   {}
func (StopTask) action()  {}
func (Release) action()   {}
func (End) action()       {}
