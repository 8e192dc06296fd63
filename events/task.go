package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// How ECS's task events are found on the EventBridge bus.
const (
	TaskSource     = "aws.ecs"
	TaskDetailType = "ECS Task State Change"
)

// TaskStateChange is an EventBridge event about an ECS task, as far as it is read. AWS delivers it at least once and out of order; Detail.Version only rises.
type TaskStateChange struct {
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	Account    string    `json:"account"`
	Region     string    `json:"region"`
	Time       time.Time `json:"time"`
	Detail     Task      `json:"detail"`
}

// Task is an ECS task as its events describe it.
type Task struct {
	ClusterARN        string      `json:"clusterArn"`
	TaskARN           string      `json:"taskArn"`
	TaskDefinitionARN string      `json:"taskDefinitionArn"`
	Group             string      `json:"group"`
	StartedBy         string      `json:"startedBy"`
	LastStatus        string      `json:"lastStatus"`
	DesiredStatus     string      `json:"desiredStatus"`
	CapacityProvider  string      `json:"capacityProviderName"`
	Version           int64       `json:"version"`
	CreatedAt         *time.Time  `json:"createdAt"`
	StartedAt         *time.Time  `json:"startedAt"`
	StoppedAt         *time.Time  `json:"stoppedAt"`
	StopCode          string      `json:"stopCode"`      // AWS adds codes: expect unknown ones, and none at all
	StoppedReason     string      `json:"stoppedReason"` // also set on a running task that is being stopped
	Containers        []Container `json:"containers"`    // may be empty
	Overrides         Overrides   `json:"overrides"`
}

// Container is one container of a task.
type Container struct {
	Name       string `json:"name"`
	LastStatus string `json:"lastStatus"`
	ExitCode   *int32 `json:"exitCode"` // absent is not 0
	Reason     string `json:"reason"`
}

// Overrides are what RunTask was given beyond the task definition.
type Overrides struct {
	Containers []ContainerOverride `json:"containerOverrides"`
}

// ContainerOverride is what RunTask was given for one container.
type ContainerOverride struct {
	Name        string     `json:"name"`
	Environment []Variable `json:"environment"`
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// DecodeTaskStateChange reads an EventBridge event. An event that is no ECS task state change, or names no task or status, is an error that wraps [ErrMalformed].
// Nothing else spoils it: a field of a type that is not its own counts as absent, so that a stopped task is heard of whatever else its event says. Times may also be
// Unix seconds or milliseconds, and a version may be a float or a string.
func DecodeTaskStateChange(event []byte) (TaskStateChange, error) {
	var w taskEvent
	var kind *json.UnmarshalTypeError // is told after all other fields have been read
	if err := json.Unmarshal(event, &w); err != nil && (!errors.As(err, &kind) || kind.Field == "") {
		return TaskStateChange{}, fmt.Errorf("read task event: %w: %s", ErrMalformed, jsonFault(err))
	}
	e := w.read()
	switch {
	case e.Source != TaskSource || e.DetailType != TaskDetailType:
		return TaskStateChange{}, fmt.Errorf("read task event: %w: its source or detail-type is another's", ErrMalformed)
	case e.Detail.TaskARN == "":
		return TaskStateChange{}, fmt.Errorf("read task event: %w: taskArn is missing", ErrMalformed)
	case e.Detail.LastStatus == "":
		return TaskStateChange{}, fmt.Errorf("read task event: %w: lastStatus is missing", ErrMalformed)
	}
	return e, nil
}
