package stack

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/alarms"
	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// addAlarms makes the alarms that package alarms declares.
func (d *Deployment) addAlarms() {
	if d.settings.Alarms == settings.NoAlarms {
		return
	}
	target := d.alarmTarget()
	for _, a := range alarms.All(d.settings.Timeouts()) {
		if !a.Essential && d.settings.Alarms != settings.AllAlarms {
			continue
		}
		if a.Own == nil {
			d.addAlarm(a, a.Name, a.Name, a.Built.Namespace, a.Built.Name, a.Built.Unit, d.about(a.Built), target)
			continue
		}
		for _, outpost := range d.settings.Outposts {
			dimensions := map[string]*string{"AcceptorId": d.acceptorID(), "OutpostId": jsii.String(outpost.ID)}
			d.addAlarm(a, idOf(a.Name, outpost), a.Name+"-"+outpost.ID, telemetry.Namespace, a.Own.Name, a.Own.Unit, dimensions, target)
		}
	}
}

// addAlarm gives an alarm a readable name; stack names are unique in an account and region, and so are these.
func (d *Deployment) addAlarm(a alarms.Alarm, id, name, namespace, metric, unit string, dimensions map[string]*string, target *[]*string) {
	var list []any
	for _, key := range []string{"AcceptorId", "FunctionName", "OutpostId", "QueueName"} {
		if value, ok := dimensions[key]; ok {
			list = append(list, awscloudwatch.CfnAlarm_DimensionProperty{Name: jsii.String(key), Value: value})
		}
	}
	comparison, missing := "GreaterThanOrEqualToThreshold", "notBreaching"
	if a.Silence {
		comparison, missing = "LessThanThreshold", "breaching"
	}
	props := &awscloudwatch.CfnAlarmProps{
		AlarmName:          jsii.String(settings.Cut(d.settings.StackName+"-"+name, 255)),
		AlarmDescription:   jsii.String(fmt.Sprintf("%s See docs/alarms.md#%s.", a.Means, strings.ToLower(a.Name))),
		Namespace:          jsii.String(namespace),
		MetricName:         jsii.String(metric),
		Dimensions:         list,
		Statistic:          jsii.String(string(a.Statistic)),
		Unit:               jsii.String(unit),
		Period:             jsii.Number(float64(a.Seconds)),
		EvaluationPeriods:  jsii.Number(float64(a.Periods)),
		ComparisonOperator: jsii.String(comparison),
		Threshold:          jsii.Number(a.Threshold),
		TreatMissingData:   jsii.String(missing),
	}
	if target != nil {
		// AWS tells of the end of the trouble, too.
		both := make([]any, len(*target))
		for i, arn := range *target {
			both[i] = arn
		}
		props.AlarmActions, props.OkActions = &both, &both
	}
	awscloudwatch.NewCfnAlarm(d.Stack, jsii.String(id+"Alarm"), props)
}

// about answers the dimensions of a metric of AWS's.
func (d *Deployment) about(metric *alarms.Built) map[string]*string {
	switch metric.Of {
	case alarms.Offers:
		return map[string]*string{"QueueName": d.queues.offers.name}
	case alarms.DeadOffers:
		return map[string]*string{"QueueName": d.queues.deadOffers.name}
	case alarms.DeadEvents:
		return map[string]*string{"QueueName": d.queues.deadEvents.name}
	default:
		return map[string]*string{"FunctionName": d.functions[metric.Of].name}
	}
}

// alarmTarget is the topic that alarms go to: the user's, one with the user's mail address, or none, and then alarms are seen in the console only.
func (d *Deployment) alarmTarget() *[]*string {
	if d.settings.AlarmTopic != "" {
		return &[]*string{jsii.String(d.settings.AlarmTopic)}
	}
	if d.settings.AlarmEmail == "" {
		return nil
	}
	topic := awssns.NewCfnTopic(d.Stack, jsii.String("Alarms"), &awssns.CfnTopicProps{
		DisplayName:  jsii.String("Devin outposts"),
		Subscription: []any{awssns.CfnTopic_SubscriptionProperty{Protocol: jsii.String("email"), Endpoint: jsii.String(d.settings.AlarmEmail)}},
	})
	awssns.NewCfnTopicPolicy(d.Stack, jsii.String("AlarmsPolicy"), &awssns.CfnTopicPolicyProps{
		Topics: &[]*string{topic.Ref()},
		PolicyDocument: document(
			statement{
				Sid: "OwnAlarms", Effect: "Allow", Principal: map[string]any{"Service": "cloudwatch.amazonaws.com"}, Action: []string{"sns:Publish"},
				Resource: []string{*topic.Ref()}, Condition: conditions{"StringEquals": {"aws:SourceAccount": *d.Account()}},
			},
			statement{
				Sid: "RefusePlainHTTP", Effect: "Deny", Principal: map[string]any{"AWS": "*"}, Action: []string{"sns:Publish"},
				Resource: []string{*topic.Ref()}, Condition: conditions{"Bool": {"aws:SecureTransport": "false"}},
			}),
	})
	return &[]*string{topic.Ref()}
}
