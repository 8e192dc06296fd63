package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// tasksPort is ECS as the functions see it, for the task definitions of some outposts. Events are read by the real client.
type tasksPort struct {
	w        *world
	families map[string]bool
	client   *tasks.Client
}

func newTasksPort(w *world, list []config.Outpost) functions.Tasks {
	p := tasksPort{w: w, families: map[string]bool{}}
	var ours []string
	for _, o := range list {
		for _, c := range o.Capacity {
			p.families[tasks.Family(c.TaskDefinition)] = true
			ours = append(ours, c.TaskDefinition)
		}
	}
	p.client = tasks.New(nil, "outposts", ours...)
	return p
}

// Run implements functions.Tasks.
func (p tasksPort) Run(_ context.Context, l tasks.Launch) (try session.Try) {
	w := p.w
	w.judge.launches(l)
	inv := w.current.inv
	err := w.call(ecsAPI, "RunTask", l.SessionID, l.Until, func() { try = w.cluster.run(l, inv) })
	switch {
	case err == nil:
		return try
	case errors.Is(err, errThrottled):
		return session.Try{Kind: session.Declined, Class: session.Retry, Reason: "ThrottlingException"}
	}
	return session.Try{Kind: session.Unclear, Class: session.Retry, Reason: err.Error()}
}

// Stop implements functions.Tasks.
func (p tasksPort) Stop(_ context.Context, arn, why string) error {
	w := p.w
	id := ""
	if t := w.cluster.byARN[arn]; t != nil {
		id = t.launch.SessionID
		w.judge.stops(t, why)
		w.judge.clear(id, "StopTask", why)
	}
	in := tasks.StopTaskInput("outposts", arn, why)
	err := w.call(ecsAPI, "StopTask", id, time.Time{}, func() { w.cluster.tell(arn, *in.Reason) })
	if err != nil {
		return fmt.Errorf("stop task %s: %w", arn, err)
	}
	return nil
}

// seen is the task as ECS describes it.
func (t *task) seen(now time.Duration) session.Task {
	if now < t.missing {
		return session.Task{ARN: t.arn, Status: "MISSING"}
	}
	return session.Task{ARN: t.arn, AttemptID: t.launch.AttemptID, Status: t.status, Desired: t.desired, Version: t.version, CreatedAt: epoch.Add(t.created), Exit: t.exit}
}

// OfSession implements functions.Tasks.
func (p tasksPort) OfSession(_ context.Context, id string, known ...string) (list []session.Task, err error) {
	w := p.w
	err = w.call(ecsAPI, "ListTasks of a session", id, time.Time{}, func() {
		for _, t := range w.cluster.of(id) {
			if w.now >= t.listed || slices.Contains(known, t.arn) {
				list = append(list, t.seen(w.now))
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks of session %s: %w", id, err)
	}
	return list, nil
}

// All implements functions.Tasks.
func (p tasksPort) All(context.Context) (list []tasks.Seen, err error) {
	w := p.w
	err = w.call(ecsAPI, "ListTasks", "", time.Time{}, func() {
		list = make([]tasks.Seen, 0, len(w.cluster.tasks))
		for _, t := range w.cluster.tasks {
			if w.now >= t.listed && w.now >= t.missing && p.families[t.family] {
				list = append(list, tasks.Seen{SessionID: t.launch.SessionID, OutpostID: t.launch.OutpostID, Family: t.family, Task: t.seen(w.now)})
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return list, nil
}

// FromEvent implements functions.Tasks.
func (p tasksPort) FromEvent(e events.TaskStateChange) (tasks.Seen, bool) {
	return p.client.FromEvent(e)
}

// announce sends the event of a change of the task: late, twice, or not at all.
func (w *world) announce(t *task) {
	if t.status != running && t.status != stopped && !w.chance(0.2) {
		return // observe leaves the others alone: a few are enough
	}
	if w.inject(EventLost, w.plan.eventLost) {
		w.note(t.s.id, "the event %s is lost", t.status)
		return
	}
	raw := t.event(w.time())
	id := t.launch.SessionID
	send := func(d time.Duration) { w.after(d, func() { w.observe(id, raw, 0) }) }
	delay := w.between(100*time.Millisecond, 3*time.Second)
	if w.inject(EventLate, w.plan.eventLate) {
		delay = w.between(time.Second, 5*time.Minute)
	}
	send(delay)
	if w.inject(EventDoubled, w.plan.eventDoubled) {
		send(w.between(0, time.Minute))
	}
}

// event is the task's state change as EventBridge delivers it.
func (t *task) event(at time.Time) json.RawMessage {
	created := epoch.Add(t.created)
	e := events.TaskStateChange{DetailType: events.TaskDetailType, Source: events.TaskSource, Time: at, Detail: events.Task{
		ClusterARN: "arn:aws:ecs:eu-central-1:111122223333:cluster/outposts", TaskARN: t.arn, TaskDefinitionARN: t.launch.TaskDefinition, LastStatus: t.status,
		DesiredStatus: t.desired, Version: t.version, CreatedAt: &created}}
	if t.status == stopped {
		e.Detail.StopCode, e.Detail.StoppedReason = t.facts.Code, t.facts.Reason
		e.Detail.Containers = []events.Container{{Name: t.launch.Container, LastStatus: stopped, ExitCode: t.facts.ExitCode, Reason: t.facts.ContainerReason}}
	}
	e.Detail.Overrides.Containers = []events.ContainerOverride{{Name: t.launch.Container, Environment: []events.Variable{{Name: tasks.EnvSession, Value: t.launch.SessionID},
		{Name: tasks.EnvOutpost, Value: t.launch.OutpostID}, {Name: tasks.EnvAttempt, Value: t.launch.AttemptID}}}}
	raw, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return raw
}

// sealer encrypts connect tokens.
type sealer struct{ w *world }

// Seal implements drive.Sealer. The ciphertext says under which unbroken claim its token was issued, and nothing of the token.
func (s sealer) Seal(_ context.Context, _, id string, token outposts.Secret) (text string, err error) {
	w := s.w
	err = w.call(keyAPI, "Encrypt", id, time.Time{}, func() {
		of := token.Reveal()
		w.serial++
		text = fmt.Sprintf("sealed-%s-%d", of[strings.LastIndexByte(of, '-')+1:], w.serial) // never the same twice
	})
	if err != nil {
		return "", fmt.Errorf("encrypt the connect token of session %s: %w", id, err)
	}
	return text, nil
}
