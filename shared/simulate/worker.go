package simulate

import (
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// work is the life of a worker whose task has begun to run: it connects, serves, and exits.
func (c *cluster) work(t *task) {
	w := c.w
	if end := t.launch.Deadline.Sub(epoch); !t.launch.Deadline.IsZero() && end < w.plan.limit {
		w.at(end, func() {
			if t.status == running && t.desired == running && !w.chance(w.plan.deaf) {
				c.exit(t, 30)
			}
		})
	}
	if w.inject(WorkerMute, w.plan.workerMute) {
		w.note(t.s.id, "the worker will not connect")
		return
	}
	if w.inject(WorkerDies, w.plan.workerDies) {
		w.after(w.between(0, 15*time.Minute), func() { c.die(t) })
	}
	if w.inject(ForeignStop, w.plan.foreignStops) {
		w.after(w.between(0, 10*time.Minute), func() { c.tell(t.arn, "by hand") })
	}
	w.after(w.between(time.Second, 40*time.Second), func() { c.connect(t) })
}

// exit ends the worker with a code.
func (c *cluster) exit(t *task, code int32) {
	c.stop(t, awserr.Stopped{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ExitCode: &code})
}

// die is a worker that fails, or a host that goes away.
func (c *cluster) die(t *task) {
	if t.status != running || t.desired != running {
		return
	}
	w := c.w
	w.note(t.s.id, "the worker dies")
	switch w.from(0, 4) {
	case 0:
		c.stop(t, awserr.Stopped{Code: "SpotInterruption", Reason: "Your Spot Task was interrupted."})
	case 1:
		exit := int32(137)
		c.stop(t, awserr.Stopped{Code: "EssentialContainerExited", Reason: "Essential container in task exited", ExitCode: &exit,
			ContainerReason: "OutOfMemoryError: Container killed due to memory usage"})
	case 2:
		c.stop(t, awserr.Stopped{Code: "A code never seen"})
	default:
		c.exit(t, 20)
	}
}

// connect is the remote dialling the gateway.
func (c *cluster) connect(t *task) {
	w, s := c.w, t.s
	if t.status != running {
		return
	}
	switch {
	case s.unbroken != t.unbroken || !w.fleet.ours(s):
		w.note(s.id, "the gateway refuses the worker: its claim is over")
		c.exit(t, 20)
		return
	case s.finished():
		w.note(s.id, "the worker finds the session %s", s.status)
		c.exit(t, 0)
		return
	case s.server != nil:
		w.violate(ruleOneWorker, s.id, "a second worker connects while the first one serves")
	}
	s.server, s.since, t.serving, t.began = t, w.now, true, w.now
	w.note(s.id, "the worker serves, %s to go", s.left)
	w.fleet.set(s, session.StatusRunning)
	w.after(s.left, func() {
		if s.server == t && !s.finished() && w.now-s.since >= s.left {
			w.fleet.settle(s)
			w.fleet.finish(s, s.ends)
		}
	})
}

// leave ends the worker's serving; the session stays as it is.
func (c *cluster) leave(t *task) {
	if !t.serving {
		return
	}
	t.serving, t.left = false, c.w.now
	if t.s.server == t {
		c.w.fleet.settle(t.s)
		t.s.server = nil
	}
}

// sessionOver has the remote see the end of its session: it exits 0 by itself, or, when the session is over, sometimes stays until it is stopped.
func (c *cluster) sessionOver(t *task, status string) {
	w := c.w
	if status == session.StatusTerminated && w.chance(w.plan.lingers) {
		return
	}
	w.after(w.between(0, 5*time.Second), func() {
		if t.serving && t.s.finished() {
			c.exit(t, 0)
		}
	})
}
