package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"
)

// addSchedule starts poll and sweep each minute. Nothing is ever retried: the next minute comes anyway, and a retried run would only be in its way.
func (d *Deployment) addSchedule() {
	group := awsscheduler.NewCfnScheduleGroup(d.Stack, jsii.String("Schedules"), &awsscheduler.CfnScheduleGroupProps{})
	role := d.newRole("ScheduleRole", "Starts poll and sweep each minute", "scheduler.amazonaws.com",
		conditions{"StringEquals": {"aws:SourceAccount": *d.Account()}, "ArnEquals": {"aws:SourceArn": *group.AttrArn()}},
		allow("StartFunctions", []string{"lambda:InvokeFunction"}, []string{*d.functions["poll"].arn, *d.functions["sweep"].arn}, nil))
	for _, name := range []string{"poll", "sweep"} {
		awsscheduler.NewCfnSchedule(d.Stack, jsii.String(title(name)+"Schedule"), &awsscheduler.CfnScheduleProps{
			GroupName:          group.Ref(),
			ScheduleExpression: jsii.String("rate(1 minute)"),
			FlexibleTimeWindow: awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
			Target: awsscheduler.CfnSchedule_TargetProperty{
				Arn: d.functions[name].arn, RoleArn: role.AttrArn(),
				RetryPolicy: awsscheduler.CfnSchedule_RetryPolicyProperty{MaximumRetryAttempts: jsii.Number(0), MaximumEventAgeInSeconds: jsii.Number(60)},
			},
		})
		awslambda.NewCfnEventInvokeConfig(d.Stack, jsii.String(title(name)+"Invoke"), &awslambda.CfnEventInvokeConfigProps{
			FunctionName: d.functions[name].name, Qualifier: jsii.String("$LATEST"),
			MaximumRetryAttempts: jsii.Number(0), MaximumEventAgeInSeconds: jsii.Number(60),
		})
	}
}

// addOfferMapping feeds claim. The mapping's own concurrency limit keeps pollers from outrunning the function, which would burn the receive count of healthy
// messages; partial answers keep one bad offer from taking its whole batch along.
func (d *Deployment) addOfferMapping() {
	awslambda.NewCfnEventSourceMapping(d.Stack, jsii.String("OfferMapping"), &awslambda.CfnEventSourceMappingProps{
		FunctionName:          d.functions["claim"].name,
		EventSourceArn:        d.queues.offers.arn,
		BatchSize:             jsii.Number(5),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		ScalingConfig:         awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: jsii.Number(4)},
	})
}

// addTaskEvents tells observe of every change of a task in our cluster, and of no other.
func (d *Deployment) addTaskEvents() {
	observe := d.functions["observe"]
	rule := awsevents.NewCfnRule(d.Stack, jsii.String("TaskEvents"), &awsevents.CfnRuleProps{
		Description: jsii.String("Task state changes of the outposts' cluster"),
		EventPattern: map[string]any{
			"source": []string{"aws.ecs"}, "detail-type": []string{"ECS Task State Change"}, "detail": map[string]any{"clusterArn": []any{d.cluster.arn}},
		},
		Targets: []any{awsevents.CfnRule_TargetProperty{
			Id: jsii.String("observe"), Arn: observe.arn,
			DeadLetterConfig: awsevents.CfnRule_DeadLetterConfigProperty{Arn: d.queues.deadEvents.arn},
			// After an hour sweep has long seen for itself.
			RetryPolicy: awsevents.CfnRule_RetryPolicyProperty{MaximumRetryAttempts: jsii.Number(10), MaximumEventAgeInSeconds: jsii.Number(3600)},
		}},
	})
	awslambda.NewCfnPermission(d.Stack, jsii.String("TaskEventsPermission"), &awslambda.CfnPermissionProps{
		Action: jsii.String("lambda:InvokeFunction"), FunctionName: observe.name, Principal: jsii.String("events.amazonaws.com"), SourceArn: rule.AttrArn(),
	})
	awslambda.NewCfnEventInvokeConfig(d.Stack, jsii.String("ObserveInvoke"), &awslambda.CfnEventInvokeConfigProps{
		FunctionName: observe.name, Qualifier: jsii.String("$LATEST"), MaximumRetryAttempts: jsii.Number(2), MaximumEventAgeInSeconds: jsii.Number(3600),
		DestinationConfig: awslambda.CfnEventInvokeConfig_DestinationConfigProperty{
			OnFailure: awslambda.CfnEventInvokeConfig_OnFailureProperty{Destination: d.queues.deadEvents.arn},
		},
	})
	d.addQueuePolicy("EventDeadLettersPolicy", d.queues.deadEvents, statement{
		Sid: "EventsThatDidNotArrive", Effect: "Allow", Principal: map[string]any{"Service": "events.amazonaws.com"},
		Action: []string{"sqs:SendMessage"}, Resource: []string{*d.queues.deadEvents.arn}, Condition: conditions{"ArnEquals": {"aws:SourceArn": *rule.AttrArn()}},
	})
}
