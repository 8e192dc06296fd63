package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/devin-outposts/devin-outposts-aws/functions"
)

// table checks that the lease table answers.
func (x *examination) table(ctx context.Context) {
	ids, err := x.d.kit.Store.Noted(ctx)
	if err != nil {
		x.note(fail, whole, "lease table", "%v", err)
		return
	}
	x.note(pass, whole, "lease table", "%s answers; %d outposts ever seen", x.d.env.Table, len(ids))
}

// queues checks the offer queue, and that nothing lies where messages go that could not be worked off.
func (x *examination) queues(ctx context.Context) {
	api := sqs.NewFromConfig(x.d.clients)
	offers, err := queueAttributes(ctx, api, x.d.env.QueueURL)
	if err != nil {
		x.note(fail, whole, "offer queue", "%v", err)
		return
	}
	x.note(pass, whole, "offer queue", "%s offers wait", offers["ApproximateNumberOfMessages"])
	x.deadLetters(ctx, api, "dead offers", redriveTarget(ctx, api, offers["RedrivePolicy"]),
		"sweep takes sessions that wait long, whatever became of their offers: read a message and claim's log for the cause, then purge the queue")
	x.deadLetters(ctx, api, "dead events", x.d.deadEvents, "sweep looks at every session each minute, whatever became of its events: read a message and observe's log for the cause, then purge the queue")
}

func (x *examination) deadLetters(ctx context.Context, api *sqs.Client, what, url, remedy string) {
	if url == "" {
		x.note(warn, whole, what, "not checked: no such queue is known")
		return
	}
	found, err := queueAttributes(ctx, api, url)
	switch n := found["ApproximateNumberOfMessages"]; {
	case err != nil:
		x.note(fail, whole, what, "%v", err)
	case n != "0":
		x.note(warn, whole, what, "%s messages could not be worked off; %s", n, remedy)
	default:
		x.note(pass, whole, what, "none")
	}
}

func queueAttributes(ctx context.Context, api *sqs.Client, url string) (map[string]string, error) {
	out, err := api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
	if err != nil {
		return nil, fmt.Errorf("read queue %s: %w", url, err)
	}
	return out.Attributes, nil
}

// redriveTarget is the URL of the queue that a redrive policy names; empty when it names none that can be found.
func redriveTarget(ctx context.Context, api *sqs.Client, policy string) string {
	var redrive struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	}
	if json.Unmarshal([]byte(policy), &redrive) != nil || redrive.DeadLetterTargetArn == "" {
		return ""
	}
	name := redrive.DeadLetterTargetArn[strings.LastIndexByte(redrive.DeadLetterTargetArn, ':')+1:]
	out, err := api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return ""
	}
	return aws.ToString(out.QueueUrl)
}

// key checks the KMS key for connect tokens.
func (x *examination) key(ctx context.Context) {
	out, err := kms.NewFromConfig(x.d.clients).DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &x.d.env.KeyID})
	switch {
	case err != nil:
		x.note(fail, whole, "token key", "read KMS key %s: %v", x.d.env.KeyID, err)
	case out.KeyMetadata.KeyState != kmstypes.KeyStateEnabled:
		x.note(fail, whole, "token key", "the key is %s: enable it, or no session can be launched", out.KeyMetadata.KeyState)
	default:
		x.note(pass, whole, "token key", "enabled")
	}
}

// cluster checks that ECS answers for the cluster.
func (x *examination) cluster(ctx context.Context, run *functions.Run) {
	all, err := run.TasksAPI.All(ctx)
	if err != nil {
		x.note(fail, whole, "cluster", "%v", err)
		return
	}
	live := 0
	for _, s := range all {
		if s.Task.Live() {
			live++
		}
	}
	x.note(pass, whole, "cluster", "%s answers; %d tasks live", x.d.env.Cluster, live)
}
