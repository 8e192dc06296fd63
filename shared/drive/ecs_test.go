package drive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// ecs stands in for ECS: it knows tasks by client token, moves them only when it is told to, and forgets them when it is told to.
type ecs struct {
	w       *world
	tasks   []*ecsTask
	held    []tasks.Launch // calls that got no answer and have not taken effect yet
	calls   []tasks.Launch // every RunTask
	allowed time.Duration  // how long the last RunTask might have taken
	// answers are what the next calls of RunTask answer; "" or none left = as ECS does. "lost": it takes effect and gives no answer; "late": no answer, and the
	// effect when it is landed; anything else is declined with that reason.
	answers []string
	stops   []string
}

type ecsTask struct {
	launch tasks.Launch
	session.Task
}

func (e *ecs) Run(ctx context.Context, l tasks.Launch) session.Try {
	e.calls = append(e.calls, l)
	if deadline, ok := ctx.Deadline(); ok {
		e.allowed = time.Until(deadline)
	}
	answer := ""
	if len(e.answers) > 0 {
		answer, e.answers = e.answers[0], e.answers[1:]
	}
	var try session.Try
	err := e.w.call("run task", func() error {
		switch answer {
		case "":
			try = e.start(l)
		case "lost":
			e.start(l)
			try = session.Try{Kind: session.Unclear, Class: session.Retry, Reason: "RunTask gave no answer"}
		case "late":
			e.held = append(e.held, l)
			try = session.Try{Kind: session.Unclear, Class: session.Retry, Reason: "RunTask gave no answer"}
		case "conflict":
			try = session.Try{Kind: session.Conflict, Reason: "the attempt's name was used with other parameters"}
		default:
			refusal := awserr.RunTaskFailure(answer, "")
			try = session.Try{Kind: session.Declined, Class: refusal.Class, Breaker: refusal.Breaker, Reason: refusal.Reason}
		}
		return nil
	})
	if err != nil {
		try = session.Try{Kind: session.Unclear, Class: session.Retry, Reason: err.Error()}
	}
	told := string(try.Kind)
	if try.ARN != "" {
		told += " " + try.ARN
	}
	if try.Reason != "" {
		told += ": " + try.Reason
	}
	e.w.note("run task on %s → %s", l.Provider, told)
	return try
}

// start is RunTask's effect: one task for each client token.
func (e *ecs) start(l tasks.Launch) session.Try {
	for _, t := range e.tasks {
		if t.AttemptID != l.AttemptID {
			continue
		}
		if fmt.Sprint(t.launch) == fmt.Sprint(l) {
			return session.Try{Kind: session.Accepted, ARN: t.ARN}
		}
		return session.Try{Kind: session.Conflict, ARN: t.ARN, Reason: "the attempt's name was used with other parameters"}
	}
	arn := fmt.Sprint("task-", len(e.tasks)+1)
	e.tasks = append(e.tasks, &ecsTask{launch: l, Task: session.Task{ARN: arn, AttemptID: l.AttemptID, Status: "PROVISIONING", Desired: "RUNNING", Version: 1, CreatedAt: e.w.Now()}})
	return session.Try{Kind: session.Accepted, ARN: arn}
}

// land lets a call that got no answer take effect.
func (e *ecs) land() {
	for _, l := range e.held {
		e.start(l)
	}
	e.held = nil
}

func (e *ecs) Stop(_ context.Context, arn, why string) error {
	err := e.w.call("stop task", func() error {
		e.stops = append(e.stops, arn)
		if t := e.find(arn); t != nil && t.Status != "STOPPED" {
			t.Desired = "STOPPED"
			t.Version++
		}
		return nil
	})
	told := ""
	if err != nil {
		told = " → " + err.Error()
	}
	e.w.note("stop %s: %s%s", arn, why, told)
	return err
}

func (e *ecs) OfSession(_ context.Context, id string, _ ...string) (list []session.Task, err error) {
	err = e.w.call("read tasks", func() error {
		for _, t := range e.tasks {
			if t.launch.SessionID == id {
				list = append(list, t.Task)
			}
		}
		return nil
	})
	if err != nil {
		e.w.note("read tasks → no answer")
		return nil, err
	}
	var told []string
	for _, t := range list {
		told = append(told, t.ARN+" "+t.Status)
	}
	e.w.note("read tasks → %s", strings.Join(append(told, "no more"), ", "))
	return list, nil
}

func (e *ecs) find(arn string) *ecsTask {
	i := slices.IndexFunc(e.tasks, func(t *ecsTask) bool { return t.ARN == arn })
	if i < 0 {
		return nil
	}
	return e.tasks[i]
}

// move is a task's step, as ECS tells it.
func (e *ecs) move(arn, status string) session.Task {
	t := e.find(arn)
	t.Status = status
	t.Version++
	return t.Task
}

// exit stops a task in one of the ways that ECS tells apart.
func (e *ecs) exit(arn, how string) session.Task {
	t := e.find(arn)
	t.Desired = "STOPPED"
	facts := awserr.Stopped{Code: "EssentialContainerExited", Reason: "Essential container in task exited"}
	code := int32(0)
	switch how {
	case "spot":
		facts = awserr.Stopped{Code: "SpotInterruption", Reason: "Your Spot Task was interrupted."}
	case "told":
		code = 30
		facts = awserr.Stopped{Code: "UserInitiated", Reason: awserr.StopPrefix + "as told", ExitCode: &code}
	case "image":
		facts = awserr.Stopped{Code: "TaskFailedToStart", Reason: "CannotPullContainerError: the image was not found"}
	default:
		if _, err := fmt.Sscan(how, &code); err != nil {
			e.w.t.Fatalf("no such exit: %s", how)
		}
		facts.ExitCode = &code
	}
	x := awserr.StoppedTask(facts)
	t.Exit = &x
	return e.move(arn, "STOPPED")
}

// live are the ARNs of the tasks that may still run something.
func (e *ecs) live() (arns []string) {
	for _, t := range e.tasks {
		if t.Live() {
			arns = append(arns, t.ARN)
		}
	}
	return arns
}

// news is an event about a task, as observe hands it over.
func news(t session.Task, at time.Time) session.Tasks {
	return session.Tasks{Reading: session.Present, At: at, Partial: true, List: []session.Task{t}}
}
