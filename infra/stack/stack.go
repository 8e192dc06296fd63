package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// Props are what a stack is made from.
type Props struct {
	Settings settings.Settings
	// Dist is the folder that `make build` fills: functions/NAME/bootstrap and worker/ are below it.
	Dist string
}

// Deployment is a stack under construction: the parts that other parts need.
type Deployment struct {
	awscdk.Stack
	settings settings.Settings
	dist     string

	network   network
	cluster   cluster
	queues    queues
	table     table
	key       key
	tokens    []secret
	worker    []worker
	functions map[string]function
	// parameters hold the outposts' configuration for the functions.
	parameters []awscdk.CfnResource

	accepted map[awscdk.CfnResource][]any // findings of cdk-nag that stand, with reasons
}

// New adds the whole deployment to an app. It fails when the built files are missing or of the wrong architecture.
func New(scope constructs.Construct, props Props) (*Deployment, error) {
	s := props.Settings
	d := &Deployment{
		Stack: awscdk.NewStack(scope, jsii.String(s.StackName), &awscdk.StackProps{
			Description:           jsii.String("Runs the sessions of Devin Outposts as ECS tasks"),
			TerminationProtection: jsii.Bool(s.TerminationProtection),
			// Without it, cdk puts the same asset under a prefix of its own, and templates differ by who synthesised them.
			AnalyticsReporting: jsii.Bool(false),
		}),
		settings: s,
		dist:     props.Dist,
		accepted: map[awscdk.CfnResource][]any{},
	}
	if err := checkBuilt(props.Dist, s); err != nil {
		return nil, err
	}
	for name, value := range s.Tags {
		awscdk.Tags_Of(d.Stack).Add(jsii.String(name), jsii.String(value), nil)
	}
	d.cluster = d.newCluster()
	d.network = d.newNetwork()
	d.queues = d.newQueues()
	d.table = d.newTable()
	d.key = d.newKey()
	d.tokens = d.importTokens()
	d.worker = d.newWorkers()
	d.functions = d.newFunctions()
	d.addSchedule()
	d.addOfferMapping()
	d.addTaskEvents()
	d.addAlarms()
	d.addDashboard()
	d.addOutputs()
	return d, nil
}

// arn writes an ARN in this account and region.
func (d *Deployment) arn(service, resource string) string {
	return "arn:" + *d.Partition() + ":" + service + ":" + *d.Region() + ":" + *d.Account() + ":" + resource
}

var notInLogicalIDs = regexp.MustCompile(`[^A-Za-z0-9]`)

// idOf names a resource of an outpost in the template, by the outpost and not by its place in the list: resources with names of their own could not change
// places in a deployment.
func idOf(kind string, outpost settings.Outpost) string {
	sum := sha256.Sum256([]byte(outpost.ID))
	return kind + notInLogicalIDs.ReplaceAllString(outpost.ID, "") + hex.EncodeToString(sum[:3])
}

// keep applies the user's removal policy to a resource that holds state.
func (d *Deployment) keep(resource awscdk.CfnResource) {
	policy := awscdk.RemovalPolicy_DESTROY
	if d.settings.RemovalPolicy == settings.Retain {
		policy = awscdk.RemovalPolicy_RETAIN
	}
	resource.ApplyRemovalPolicy(policy, &awscdk.RemovalPolicyOptions{ApplyToUpdateReplacePolicy: jsii.Bool(true)})
}
