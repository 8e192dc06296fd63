package ecstest

import (
	"context"
	"fmt"
	"maps"
)

// Task is a task as it stands.
type Task struct {
	ARN        string
	Definition string // family:revision
	Provider   string
	StartedBy  string
	Env        map[string]string // what RunTask's overrides set
	Status     string
	Desired    string
	StopCode   string
	Reason     string
	Exit       *int
	PID        int // of its process while it runs; 0 = none
}

// Tasks are all tasks that ECS would still tell of, in the order of their making.
func (s *Server) Tasks() []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Task
	for _, t := range s.order {
		list = append(list, t.snapshot())
	}
	return list
}

func (t *task) snapshot() Task {
	return Task{
		ARN: t.arn, Definition: t.definition, Provider: t.provider, StartedBy: t.startedBy, Env: maps.Clone(t.env),
		Status: t.status, Desired: t.desired, StopCode: t.stopCode, Reason: t.reason, Exit: t.exit, PID: t.pid,
	}
}

// Await waits until a task is in a state, or is STOPPED instead, which is an error, as is the context's end.
func (s *Server) Await(ctx context.Context, arn, status string) (Task, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		t, ok := s.find(arn)
		var now Task
		if ok {
			now = t.snapshot()
		}
		s.mu.Unlock()
		switch {
		case !ok:
			return now, fmt.Errorf("wait for task %s: no such task", arn)
		case now.Status == status:
			return now, nil
		case now.Status == "STOPPED":
			return now, fmt.Errorf("wait for task %s to be %s: it is STOPPED: %s", arn, status, now.Reason)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, fmt.Errorf("wait for task %s to be %s: it is %s: %w", arn, status, now.Status, ctx.Err())
		}
	}
}
