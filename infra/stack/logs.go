package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

type logGroup struct {
	name, arn *string
}

// newLogGroup makes a log group with the user's retention; a group that AWS makes by itself keeps everything for ever.
func (d *Deployment) newLogGroup(id string) logGroup {
	group := awslogs.NewCfnLogGroup(d.Stack, jsii.String(id), &awslogs.CfnLogGroupProps{RetentionInDays: jsii.Number(float64(d.settings.LogRetentionDays))})
	d.keep(group)
	return logGroup{name: group.Ref(), arn: group.AttrArn()}
}

// write allows writing to the group and nothing else. The group's ARN ends in `:*` already.
func (g logGroup) write() statement {
	return allow("WriteLogs", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, []string{*g.arn}, nil)
}

func (d *Deployment) addFlowLogs(vpc awsec2.Vpc) {
	group := d.newLogGroup("FlowLogs")
	role := d.newRole("FlowLogsRole", "Writes the VPC's flow logs", "vpc-flow-logs.amazonaws.com",
		conditions{"StringEquals": {"aws:SourceAccount": *d.Account()}},
		allow("WriteLogs", []string{"logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"}, []string{*group.arn}, nil),
		allow("FindGroup", []string{"logs:DescribeLogGroups"}, []string{"*"}, nil).because("VPC flow logs ask for all log groups"))
	awsec2.NewCfnFlowLog(d.Stack, jsii.String("FlowLog"), &awsec2.CfnFlowLogProps{
		ResourceId: vpc.VpcId(), ResourceType: jsii.String("VPC"), TrafficType: jsii.String("ALL"),
		LogDestinationType: jsii.String("cloud-watch-logs"), LogGroupName: group.name, DeliverLogsPermissionArn: role.AttrArn(),
	})
}
