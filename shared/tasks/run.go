package tasks

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/smithy-go/ptr"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Pauses between calls that ECS throttled: each is a random part of a limit that doubles, until the last.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 2 * time.Second
)

// once lets the SDK send a RunTask once: a retry after an unclear answer would make the second answer look definite.
func once(o *ecs.Options) { o.Retryer = aws.NopRetryer{} }

// Run launches a session's worker and answers session.Accepted, Conflict, Declined, Unclear (without a time) or Unservable. The context's deadline is the
// launch's: nothing is sent after it. Only throttled calls, of which certainly nothing came, are sent again.
func (c *Client) Run(ctx context.Context, l Launch) session.Try {
	l.Cluster = c.cluster
	in, err := RunTaskInput(l)
	if err != nil {
		return session.Try{Kind: session.Unservable, Class: session.Terminal, Reason: err.Error()}
	}
	if ctx.Err() != nil {
		return session.Try{Kind: session.Declined, Class: session.Retry, Reason: "the time to launch was over before RunTask was sent"}
	}
	out, err := c.api.RunTask(ctx, in, once)
	for pause := firstPause; awserr.Throttled(err) && pause <= lastPause && rest(ctx, pause); pause *= 2 {
		out, err = c.api.RunTask(ctx, in, once)
	}
	return answer(out, err)
}

// rest waits a random part of a pause and says whether there is still time.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(pause))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// answer reads what RunTask answered. HTTP's success is not the launch's.
func answer(out *ecs.RunTaskOutput, err error) session.Try {
	if arns, ok := awserr.ConflictingTasks(err); ok {
		try := session.Try{Kind: session.Conflict, Reason: "the attempt's name was used with other parameters"}
		if len(arns) > 0 {
			try.ARN = arns[0]
		}
		return try
	}
	if err != nil {
		refusal := awserr.RunTaskError(err)
		if !refusal.Definite {
			return session.Try{Kind: session.Unclear, Class: refusal.Class, Reason: refusal.Reason}
		}
		return declined(refusal)
	}
	for _, task := range out.Tasks {
		if arn := ptr.ToString(task.TaskArn); arn != "" {
			return session.Try{Kind: session.Accepted, ARN: arn}
		}
	}
	for _, failure := range out.Failures {
		return declined(awserr.RunTaskFailure(ptr.ToString(failure.Reason), ptr.ToString(failure.Detail)))
	}
	return session.Try{Kind: session.Unclear, Class: session.Retry, Reason: "RunTask answered neither a task nor a failure"}
}

func declined(r awserr.Refusal) session.Try {
	return session.Try{Kind: session.Declined, Class: r.Class, Breaker: r.Breaker, Reason: r.Reason}
}

// maxStopReason is how long StopTask's reason may be (the ECS API reference: 255 characters).
const maxStopReason = 255

// StopTaskInput builds the request. The reason bears awserr.StopPrefix, by which the stop is known as ours.
func StopTaskInput(cluster, arn, why string) *ecs.StopTaskInput {
	told := []rune(awserr.StopPrefix + why)
	return &ecs.StopTaskInput{Cluster: aws.String(cluster), Task: aws.String(arn), Reason: aws.String(string(told[:min(len(told), maxStopReason)]))}
}

// Stop tells a task to stop. A task that ECS no longer knows has stopped: no error.
func (c *Client) Stop(ctx context.Context, arn, why string) error {
	_, err := c.api.StopTask(ctx, StopTaskInput(c.cluster, arn, why))
	if err != nil && !unknownTask(err) {
		return wrap("stop task", arn, err)
	}
	return nil
}

// unknownTask says whether ECS does not know a task, for which it has a code of its own kind only in words.
func unknownTask(err error) bool {
	return awserr.Code(err) == "InvalidParameterException" && strings.Contains(strings.ToLower(err.Error()), "task was not found")
}
