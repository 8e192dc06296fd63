// Package readiness looks whether a machine is fit to serve a session, before one is served (and by hand, with
// outpost-worker doctor). Only a missing git and an unreachable gateway make it unfit; everything else is said and lived with.
package readiness

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Status is the verdict of a check.
type Status string

// The verdicts.
const (
	Pass Status = "pass"
	Warn Status = "warn" // the session is served, but may lack something
	Fail Status = "fail" // no session can be served here
)

// Check is the outcome of one check.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`           // what was found
	Advice string `json:"advice,omitempty"` // what to do about it
}

// Machine is what is looked at.
type Machine struct {
	Gateway string // URL; empty: not checked
	Static  string // URL of the distribution, by whose clock ours is judged
	Workdir string
	Chrome  string // path; empty: looked for
	GPU     bool   // this task was given one

	Root   fs.FS                                           // the file system
	Look   func(command string) (path string, err error)   // on the PATH
	Space  func(path string) (total, free uint64, _ error) // bytes
	Proxy  func(*http.Request) (*url.URL, error)
	Client *http.Client
	Now    func() time.Time
	Pause  time.Duration // between tries to reach the gateway
}

// Here is this machine; the caller fills in what to check it for.
func Here(now func() time.Time) Machine {
	return Machine{
		Root: os.DirFS("/"), Look: exec.LookPath, Space: space, Proxy: http.ProxyFromEnvironment,
		Client: &http.Client{Timeout: 3 * time.Second}, Now: now, Pause: time.Second,
	}
}

// Inspect makes all checks, at once, and gives their outcomes in a fixed order.
func (m Machine) Inspect(ctx context.Context) []Check {
	checks := []func(context.Context) Check{m.git, m.ffmpeg, m.chrome, m.disk, m.memory, m.sharedMemory, m.clock, m.gatewayName, m.gateway}
	if m.GPU {
		checks = append(checks, m.gpu)
	}
	outcomes := make([]Check, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { outcomes[i] = check(ctx) })
	}
	all.Wait()
	return outcomes
}

// Fit reports whether a session can be served, and if not, why.
func Fit(outcomes []Check) (fit bool, why Check) {
	for _, c := range outcomes {
		if c.Status == Fail {
			return false, c
		}
	}
	return true, Check{}
}
