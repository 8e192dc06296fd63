package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// Times of the offer queue, in seconds. AWS asks for a visibility of six times the consumer's timeout; an offer is a hint that poll repeats, so it may die young.
const (
	offerVisibility = 6 * settings.ClaimTimeout
	offerRetention  = 60 * 60
	offerReceives   = 5
	deadRetention   = 14 * 24 * 60 * 60
)

type queue struct {
	url, arn, name *string
}

type queues struct {
	offers     queue
	deadOffers queue // offers that could not be worked off
	deadEvents queue // task events that did not reach observe
}

func (d *Deployment) newQueues() queues {
	var q queues
	q.deadOffers = d.newQueue("OfferDeadLetters", &awssqs.CfnQueueProps{MessageRetentionPeriod: jsii.Number(deadRetention)})
	q.deadEvents = d.newQueue("EventDeadLetters", &awssqs.CfnQueueProps{MessageRetentionPeriod: jsii.Number(deadRetention)})
	q.offers = d.newQueue("Offers", &awssqs.CfnQueueProps{
		VisibilityTimeout:      jsii.Number(offerVisibility),
		MessageRetentionPeriod: jsii.Number(offerRetention),
		RedrivePolicy:          map[string]any{"deadLetterTargetArn": q.deadOffers.arn, "maxReceiveCount": offerReceives},
	})
	d.addQueuePolicy("OffersPolicy", q.offers)
	d.addQueuePolicy("OfferDeadLettersPolicy", q.deadOffers)
	return q
}

// newQueue makes a queue that is encrypted by SQS's own keys.
func (d *Deployment) newQueue(id string, props *awssqs.CfnQueueProps) queue {
	props.SqsManagedSseEnabled = jsii.Bool(true)
	q := awssqs.NewCfnQueue(d.Stack, jsii.String(id), props)
	if id == "EventDeadLetters" {
		d.accept(q, "AwsSolutions-SQS3", "It is the dead-letter queue of a rule and of a function, which cdk-nag does not see")
	}
	return queue{url: q.Ref(), arn: q.AttrArn(), name: q.AttrQueueName()}
}

// addQueuePolicy refuses plain HTTP, and lets in whom the statements name.
func (d *Deployment) addQueuePolicy(id string, q queue, more ...statement) {
	refuse := statement{
		Sid: "RefusePlainHTTP", Effect: "Deny", Principal: map[string]any{"AWS": "*"}, Action: []string{"sqs:*"}, Resource: []string{*q.arn},
		Condition: conditions{"Bool": {"aws:SecureTransport": "false"}},
	}
	awssqs.NewCfnQueuePolicy(d.Stack, jsii.String(id), &awssqs.CfnQueuePolicyProps{
		Queues: &[]*string{q.url}, PolicyDocument: document(append([]statement{refuse}, more...)...),
	})
}
