package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// providers maps the words of the configuration to ECS capacity providers.
var providers = map[settings.Capacity]string{settings.Fargate: "FARGATE", settings.FargateSpot: "FARGATE_SPOT"}

type cluster struct {
	name, arn *string
}

// newCluster makes a cluster of its own: permissions and task events are narrowed to it. Both Fargate providers are attached always, so that a change of
// the configured capacity changes nothing here.
func (d *Deployment) newCluster() cluster {
	c := awsecs.NewCfnCluster(d.Stack, jsii.String("Cluster"), &awsecs.CfnClusterProps{
		ClusterSettings: []any{awsecs.CfnCluster_ClusterSettingsProperty{Name: jsii.String("containerInsights"), Value: jsii.String("disabled")}},
	})
	d.accept(c, "AwsSolutions-ECS4", "Container Insights bills by metric; what matters of tasks is in the metrics of our own")
	awsecs.NewCfnClusterCapacityProviderAssociations(d.Stack, jsii.String("CapacityProviders"), &awsecs.CfnClusterCapacityProviderAssociationsProps{
		Cluster:                         c.Ref(),
		CapacityProviders:               &[]any{"FARGATE", "FARGATE_SPOT"},
		DefaultCapacityProviderStrategy: []any{},
	})
	return cluster{name: c.Ref(), arn: c.AttrArn()}
}
