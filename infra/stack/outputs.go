package stack

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addOutputs tells what tools outside need: outpostctl finds a deployment by these.
func (d *Deployment) addOutputs() {
	var parameters []string
	for _, outpost := range d.settings.Outposts {
		parameters = append(parameters, d.settings.Parameter(outpost))
	}
	for _, output := range []struct{ id, description, value string }{
		{"AcceptorId", "This deployment's identity in Devin's queue", *d.acceptorID()},
		{"ApiUrl", "Base URL of Devin's API", d.settings.APIURL},
		{"ClusterName", "ECS cluster that the sessions' tasks run in", *d.cluster.name},
		{"EventDeadLettersUrl", "SQS queue of task events that did not arrive", *d.queues.deadEvents.url},
		{"LeaseTableName", "DynamoDB table of the sessions' leases", *d.table.name},
		{"OfferDeadLettersUrl", "SQS queue of offers that could not be worked off", *d.queues.deadOffers.url},
		{"OfferQueueUrl", "SQS queue of offers", *d.queues.offers.url},
		{"OutpostsParameters", "SSM parameters with the outposts' configuration", strings.Join(parameters, ",")},
		{"TokenKeyArn", "KMS key that connect tokens are encrypted with", *d.key.arn},
	} {
		awscdk.NewCfnOutput(d.Stack, jsii.String(output.id), &awscdk.CfnOutputProps{Description: jsii.String(output.description), Value: jsii.String(output.value)})
	}
}
