package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// What ECS says of tasks.
const (
	provisioning = "PROVISIONING"
	pending      = "PENDING"
	running      = "RUNNING"
	stopping     = "STOPPING"
	stopped      = "STOPPED"
)

// remembers is how long ECS lists a stopped task.
const remembers = time.Hour

// task is one ECS task and the worker in it.
type task struct {
	arn      string
	launch   tasks.Launch
	s        *devin
	family   string
	created  time.Duration
	listed   time.Duration // from when lists show it
	missing  time.Duration // until when lists show it as MISSING
	status   string
	desired  string
	version  int64
	exit     *session.Exit
	facts    awserr.Stopped
	ended    time.Duration
	serving  bool          // its worker is connected and serves
	left     time.Duration // when it went
	began    time.Duration // when it connected; 0 = not yet
	foreign  bool          // somebody else's RunTask
	by       *invocation   // whose RunTask it came of
	unbroken int           // which unbroken claim its token was issued under
}

// live says whether the task may still run something.
func (t *task) live() bool { return t.status != stopped }

// cluster is ECS.
type cluster struct {
	w        *world
	tasks    []*task // listed or still to be
	byToken  map[string]*task
	byOwner  map[string][]*task // by session
	byARN    map[string]*task
	serial   int
	starting int // tasks in PROVISIONING
}

func newCluster(w *world) *cluster {
	return &cluster{w: w, byToken: map[string]*task{}, byOwner: map[string][]*task{}, byARN: map[string]*task{}}
}

// of are the tasks of a session.
func (c *cluster) of(id string) []*task { return c.byOwner[id] }

// run is RunTask's effect: a task, the task that already has this name, or a refusal.
func (c *cluster) run(l tasks.Launch, by *invocation) session.Try {
	w := c.w
	if old := c.byToken[l.AttemptID]; old != nil {
		if same(old.launch, l) {
			return session.Try{Kind: session.Accepted, ARN: old.arn}
		}
		try := session.Try{Kind: session.Conflict, Reason: "the attempt's name was used with other parameters"}
		if !w.chance(0.1) {
			try.ARN = old.arn
		}
		return try
	}
	choice := choiceOf(l.Provider)
	if w.within(w.plan.capacity, choice) {
		w.faults[CapacityGone]++
		return refusal(awserr.RunTaskFailure("Capacity is unavailable at this time. Please try again later or in a different availability zone", ""))
	}
	if w.opts.day != nil {
		if try, refused := w.opts.day.refuses(); refused {
			return try
		}
	}
	s := w.fleet.byID[l.SessionID]
	c.serial++
	t := &task{arn: fmt.Sprintf("arn:aws:ecs:eu-central-1:111122223333:task/outposts/%08d", c.serial), launch: l, s: s, created: w.now, status: provisioning, desired: running,
		by: by, version: 1, family: tasks.Family(l.TaskDefinition)}
	if _, err := fmt.Sscanf(l.Ciphertext, "sealed-%d-", &t.unbroken); err != nil {
		w.violate(ruleToken, s.id, "RunTask carries a ciphertext that is none: "+l.Ciphertext)
	}
	w.judge.clear(s.id, "RunTask", l.Ciphertext, l.GatewayURL, l.RemoteSHA, l.AttemptID, l.Provider, l.TaskDefinition)
	if w.inject(ListLags, w.plan.listLags) {
		t.listed = w.now + w.between(time.Second, 25*time.Second)
	}
	if w.inject(TaskMissing, w.plan.taskMissing) {
		t.missing = max(t.listed, w.now) + w.between(time.Second, time.Minute)
	}
	c.tasks = append(c.tasks, t)
	c.starting++
	c.byOwner[s.id] = append(c.byOwner[s.id], t)
	c.byARN[t.arn] = t
	c.byToken[l.AttemptID] = t
	w.note(s.id, "task %d is created in %s", c.serial, choice)
	w.judge.created(t)
	c.start(t, choice)
	return session.Try{Kind: session.Accepted, ARN: t.arn}
}

// foreign is a task that somebody starts for the session by hand. Its worker never connects.
func (c *cluster) foreign(s *devin) {
	w := c.w
	if len(c.of(s.id)) == 0 || slices.ContainsFunc(c.of(s.id), func(t *task) bool { return t.foreign }) { // there is none to take after, or it was done before
		return
	}
	c.serial++
	like := c.of(s.id)[0]
	t := &task{arn: fmt.Sprintf("arn:aws:ecs:eu-central-1:111122223333:task/outposts/%08d", c.serial), launch: like.launch, s: s, created: w.now, status: running, desired: running,
		version: 3, family: like.family, foreign: true}
	t.launch.AttemptID = fmt.Sprint("by-hand-", c.serial)
	c.tasks = append(c.tasks, t)
	c.byOwner[s.id] = append(c.byOwner[s.id], t)
	c.byARN[t.arn] = t
	w.judge.opens(s)
	w.note(s.id, "task %d is started by hand", c.serial)
}

func refusal(r awserr.Refusal) session.Try {
	return session.Try{Kind: session.Declined, Class: r.Class, Breaker: r.Breaker, Reason: r.Reason}
}

func same(a, b tasks.Launch) bool {
	return a.Provider == b.Provider && a.TaskDefinition == b.TaskDefinition && a.Ciphertext == b.Ciphertext && a.GatewayURL == b.GatewayURL && a.RemoteSHA == b.RemoteSHA &&
		a.Deadline.Equal(b.Deadline) && a.Container == b.Container && slices.Equal(a.Subnets, b.Subnets)
}

func choiceOf(provider string) string {
	for i, r := range provider {
		if r == '-' {
			return provider[:i]
		}
	}
	return provider
}

// start plans how the task comes to run, if it does.
func (c *cluster) start(t *task, choice string) {
	w := c.w
	w.after(w.between(time.Second, 10*time.Second), func() { c.move(t, pending) })
	delay := w.between(15*time.Second, 90*time.Second)
	if w.chance(w.plan.slow) {
		delay = w.between(5*time.Minute, 14*time.Minute) // a machine from nothing
	}
	switch {
	case w.within(w.plan.images, choice) || w.within(w.plan.images, t.launch.OutpostID):
		w.faults[BadImage]++
		w.after(delay, func() {
			c.stop(t, awserr.Stopped{Code: "TaskFailedToStart", Reason: "CannotPullContainerError: pull image manifest has been retried 1 time(s): not found"})
		})
	case w.inject(NeverStarts, w.plan.neverStarts):
		if w.chance(0.5) {
			w.after(delay, func() {
				c.stop(t, awserr.Stopped{Code: "TaskFailedToStart", Reason: "ResourceInitializationError: failed to configure ENI"})
			})
		}
	default:
		w.after(delay, func() {
			if t.status == pending || t.status == provisioning {
				c.move(t, running)
				c.work(t)
			}
		})
	}
}

// move changes the task's status and tells of it.
func (c *cluster) move(t *task, status string) {
	if t.status == stopped || t.status == status || t.status == stopping && status != stopped || t.status == running && status == pending {
		return
	}
	if t.status == provisioning {
		c.starting--
	}
	t.status = status
	if status == running {
		c.w.judge.ran[t.launch.OutpostID+"/"+choiceOf(t.launch.Provider)] = c.w.now
	}
	t.version++
	c.w.note(t.launch.SessionID, "task %s is %s", t.arn[len(t.arn)-8:], status)
	c.w.announce(t)
}

// stop is the end of the task: its worker is gone, and ECS says why.
func (c *cluster) stop(t *task, facts awserr.Stopped) {
	w := c.w
	if t.status == stopped || t.status == stopping {
		return
	}
	c.leave(t)
	t.desired, t.facts = stopped, facts
	c.move(t, stopping)
	w.after(w.between(2*time.Second, 30*time.Second), func() {
		if t.status == stopped {
			return
		}
		exit := awserr.StoppedTask(t.facts)
		t.exit, t.ended = &exit, w.now
		c.move(t, stopped)
		w.judge.stopped(t)
		w.after(remembers, func() {
			c.forget(t)
			w.after(time.Hour, func() { delete(c.byToken, t.launch.AttemptID) })
		})
	})
}

// forget takes a task that stopped an hour ago out of all lists.
func (c *cluster) forget(t *task) {
	gone := func(o *task) bool { return o == t }
	c.tasks = slices.DeleteFunc(c.tasks, gone)
	delete(c.byARN, t.arn)
	if c.byOwner[t.s.id] = slices.DeleteFunc(c.byOwner[t.s.id], gone); len(c.byOwner[t.s.id]) == 0 {
		delete(c.byOwner, t.s.id)
	}
}

// tell is StopTask's effect: the worker is told, and has its time to go.
func (c *cluster) tell(arn, why string) {
	w := c.w
	t := c.byARN[arn]
	if t == nil || t.desired == stopped {
		return
	}
	t.desired = stopped
	t.version++
	w.note(t.launch.SessionID, "task %s is told to stop: %s", arn[len(arn)-8:], why)
	w.announce(t)
	exit := int32(30)
	facts := awserr.Stopped{Code: "UserInitiated", Reason: why, ExitCode: &exit}
	if t.status != running {
		facts.ExitCode = nil
	}
	w.after(w.between(time.Second, 90*time.Second), func() { c.stop(t, facts) })
}
