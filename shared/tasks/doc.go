// Package tasks is the adapter to ECS: it builds requests in pure functions, sends them, and tells what came of them in the words of package session.
//
// A task belongs to a session, an outpost and an attempt by the environment that RunTask gave it, never by startedBy alone: that field only makes a session's
// tasks quick to list. Where tasks are looked for without a session in mind, those of families other than our own are never told of, so that nothing can lead to
// one of them being stopped.
package tasks

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

// API are the ECS calls that are used; *ecs.Client has them.
type API interface {
	RunTask(context.Context, *ecs.RunTaskInput, ...func(*ecs.Options)) (*ecs.RunTaskOutput, error)
	StopTask(context.Context, *ecs.StopTaskInput, ...func(*ecs.Options)) (*ecs.StopTaskOutput, error)
	DescribeTasks(context.Context, *ecs.DescribeTasksInput, ...func(*ecs.Options)) (*ecs.DescribeTasksOutput, error)
	ListTasks(context.Context, *ecs.ListTasksInput, ...func(*ecs.Options)) (*ecs.ListTasksOutput, error)
}

// Client speaks to ECS about the tasks of one cluster. It is safe for concurrent use.
type Client struct {
	api      API
	cluster  string
	families map[string]bool
}

// New makes a client for a cluster (name or ARN) and our own task definitions in it, each a family, family:revision or ARN.
func New(api API, cluster string, taskDefinitions ...string) *Client {
	c := &Client{api: api, cluster: cluster, families: map[string]bool{}}
	for _, definition := range taskDefinitions {
		c.families[Family(definition)] = true
	}
	return c
}

// Family is the family of a task definition that is given as family, family:revision or ARN.
func Family(taskDefinition string) string {
	family := afterSlash(taskDefinition)
	family, _, _ = strings.Cut(family, ":")
	return family
}

// afterSlash is the name at the end of an ARN, or the name itself.
func afterSlash(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
