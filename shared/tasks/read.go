package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go/ptr"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// describeMax is how many tasks one DescribeTasks takes (the ECS API reference).
const describeMax = 100

// OfSession lists the tasks of a session that ECS knows, of any attempt, running and stopped (ECS forgets stopped ones after an hour or so). Their environment
// says that they are the session's, whatever their family: one that has left the configuration still counts. Tasks known by their ARN are described even when the list,
// which may lag, leaves them out.
func (c *Client) OfSession(ctx context.Context, sessionID string, known ...string) ([]session.Task, error) {
	arns, err := c.list(ctx, aws.String(StartedBy(sessionID)))
	if err != nil {
		return nil, wrap("list tasks of session", sessionID, err)
	}
	for _, arn := range known {
		if !slices.Contains(arns, arn) {
			arns = append(arns, arn)
		}
	}
	seen, err := c.Describe(ctx, arns)
	if err != nil {
		return nil, wrap("describe tasks of session", sessionID, err)
	}
	var list []session.Task
	for _, s := range seen {
		// ECS listed it and does not describe it: it is new, or was just forgotten. As a task of this session it may still live, which MISSING leaves open.
		if s.SessionID == sessionID || s.Task.Status == missing {
			list = append(list, s.Task)
		}
	}
	return list, nil
}

// All lists every task of our own families in the cluster that ECS knows, running and stopped. What ECS lists and does not describe is left out.
func (c *Client) All(ctx context.Context) ([]Seen, error) {
	arns, err := c.list(ctx, nil)
	if err != nil {
		return nil, wrap("list tasks of cluster", c.cluster, err)
	}
	seen, err := c.Describe(ctx, arns)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(seen, func(s Seen) bool { return !c.families[s.Family] }), nil
}

// Describe reads tasks by their ARNs, in as few calls as there can be. One that ECS does not know comes back with the status MISSING and nothing else but its
// ARN: it was forgotten, or is so new that ECS does not know it yet.
func (c *Client) Describe(ctx context.Context, arns []string) ([]Seen, error) {
	var seen []Seen
	for batch := range slices.Chunk(arns, describeMax) {
		out, err := c.api.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: aws.String(c.cluster), Tasks: batch})
		if err != nil {
			return nil, fmt.Errorf("describe %d tasks: %w", len(batch), err)
		}
		for _, task := range out.Tasks {
			seen = append(seen, see(described(task)))
		}
		for _, failure := range out.Failures {
			if ptr.ToString(failure.Reason) != missing {
				return nil, fmt.Errorf("describe task %s: ECS answers %s", ptr.ToString(failure.Arn), ptr.ToString(failure.Reason))
			}
			seen = append(seen, Seen{Task: session.Task{ARN: ptr.ToString(failure.Arn), Status: missing}})
		}
	}
	return seen, nil
}

// list lists the ARNs of tasks, each once; startedBy nil = all of the cluster. A task that was told to stop counts as STOPPED here while it still runs.
func (c *Client) list(ctx context.Context, startedBy *string) ([]string, error) {
	var arns []string
	for _, desired := range []types.DesiredStatus{types.DesiredStatusRunning, types.DesiredStatusStopped} {
		in := &ecs.ListTasksInput{Cluster: aws.String(c.cluster), StartedBy: startedBy, DesiredStatus: desired}
		for pages := ecs.NewListTasksPaginator(c.api, in, stopOnSameToken); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			arns = append(arns, page.TaskArns...)
		}
	}
	slices.Sort(arns) // a task may turn from RUNNING to STOPPED between the calls, so that in this order it is listed twice rather than never
	return slices.Compact(arns), nil
}

func stopOnSameToken(o *ecs.ListTasksPaginatorOptions) { o.StopOnDuplicateToken = true }

func wrap(verb, id string, err error) error { return fmt.Errorf("%s %s: %w", verb, id, err) }
