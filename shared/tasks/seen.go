package tasks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go/ptr"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// What ECS says of tasks.
const (
	stopped = "STOPPED"
	missing = "MISSING"
)

// Seen is a task of ours with what it says of itself.
type Seen struct {
	SessionID string // empty when the task was not started by RunTask as we send it
	OutpostID string
	Family    string
	Task      session.Task
}

// FromEvent reads a task state change; false = the task is not in our cluster or of our families.
func (c *Client) FromEvent(e events.TaskStateChange) (Seen, bool) {
	s := see(e.Detail)
	if afterSlash(e.Detail.ClusterARN) != afterSlash(c.cluster) || !c.families[s.Family] {
		return Seen{}, false
	}
	return s, true
}

// see reads a task.
func see(t events.Task) Seen {
	s := Seen{Family: Family(t.TaskDefinitionARN), Task: session.Task{ARN: t.TaskARN, Status: t.LastStatus, Desired: t.DesiredStatus, Version: t.Version}}
	if t.CreatedAt != nil {
		s.Task.CreatedAt = t.CreatedAt.UTC()
	}
	container := ""
	for _, override := range t.Overrides.Containers {
		for _, v := range override.Environment {
			switch v.Name {
			case EnvSession:
				s.SessionID, container = v.Value, override.Name
			case EnvOutpost:
				s.OutpostID = v.Value
			case EnvAttempt:
				s.Task.AttemptID = v.Value
			}
		}
	}
	if t.LastStatus == stopped {
		exit := awserr.StoppedTask(stoppedFacts(t, container))
		s.Task.Exit = &exit
	}
	return s
}

// stoppedFacts gathers what is known of a stopped task. The worker's container speaks for it; any container may have run out of memory or failed to start.
func stoppedFacts(t events.Task, worker string) awserr.Stopped {
	facts := awserr.Stopped{Code: t.StopCode, Reason: t.StoppedReason}
	for _, c := range t.Containers {
		if c.Name == worker || worker == "" && len(t.Containers) == 1 {
			facts.ExitCode = c.ExitCode
		}
		if c.Reason != "" && (facts.ContainerReason == "" || c.Name == worker) {
			facts.ContainerReason = c.Reason
		}
	}
	return facts
}

// described turns DescribeTasks' task into the one of the events, so that both are read by the same code.
func described(t types.Task) events.Task {
	d := events.Task{
		ClusterARN:        ptr.ToString(t.ClusterArn),
		TaskARN:           ptr.ToString(t.TaskArn),
		TaskDefinitionARN: ptr.ToString(t.TaskDefinitionArn),
		Group:             ptr.ToString(t.Group),
		StartedBy:         ptr.ToString(t.StartedBy),
		LastStatus:        ptr.ToString(t.LastStatus),
		DesiredStatus:     ptr.ToString(t.DesiredStatus),
		CapacityProvider:  ptr.ToString(t.CapacityProviderName),
		Version:           t.Version,
		CreatedAt:         utc(t.CreatedAt),
		StartedAt:         utc(t.StartedAt),
		StoppedAt:         utc(t.StoppedAt),
		StopCode:          string(t.StopCode),
		StoppedReason:     ptr.ToString(t.StoppedReason),
	}
	for _, c := range t.Containers {
		d.Containers = append(d.Containers, events.Container{
			Name: ptr.ToString(c.Name), LastStatus: ptr.ToString(c.LastStatus), ExitCode: c.ExitCode, Reason: ptr.ToString(c.Reason),
		})
	}
	if t.Overrides == nil {
		return d
	}
	for _, o := range t.Overrides.ContainerOverrides {
		override := events.ContainerOverride{Name: ptr.ToString(o.Name)}
		for _, v := range o.Environment {
			override.Environment = append(override.Environment, events.Variable{Name: ptr.ToString(v.Name), Value: ptr.ToString(v.Value)})
		}
		d.Overrides.Containers = append(d.Overrides.Containers, override)
	}
	return d
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
