package stack

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// line is one metric in a graph of the dashboard, in CloudWatch's form: namespace, name, dimensions, and how to draw it.
type line []any

func (d *Deployment) addDashboard() {
	if !d.settings.Dashboard {
		return
	}
	own := func(statistic string, metrics ...telemetry.Metric) []line {
		var lines []line
		for _, m := range metrics {
			for _, outpost := range d.settings.Outposts {
				label := m.Name
				if len(d.settings.Outposts) > 1 {
					label += " " + outpost.ID
				}
				lines = append(lines, line{telemetry.Namespace, m.Name, "AcceptorId", d.acceptorID(), "OutpostId", outpost.ID,
					map[string]any{"stat": statistic, "label": label + statisticLabel(statistic)}})
			}
		}
		return lines
	}
	queue := func(q queue, metric, statistic, label string) line {
		return line{"AWS/SQS", metric, "QueueName", q.name, map[string]any{"stat": statistic, "label": label}}
	}
	lambda := func(metric, statistic, label string) []line {
		var lines []line
		for _, name := range Functions {
			lines = append(lines, line{"AWS/Lambda", metric, "FunctionName", d.functions[name].name, map[string]any{"stat": statistic, "label": name + label}})
		}
		return lines
	}
	vcpus := func(class, label string) line {
		return line{"AWS/Usage", "ResourceCount", "Service", "Fargate", "Type", "Resource", "Resource", "vCPU", "Class", class, map[string]any{"stat": "Average", "label": label}}
	}
	latency := append(own("p50", telemetry.PickupTime, telemetry.StartTime, telemetry.ConnectTime), own("p99", telemetry.PickupTime, telemetry.StartTime, telemetry.ConnectTime)...)
	rows := [][]any{
		{
			d.graph("Oldest waiting session (s)", 300, own("Maximum", telemetry.OldestWaiting)),
			d.graph("Offers", 300, []line{
				queue(d.queues.offers, "ApproximateNumberOfMessagesVisible", "Maximum", "waiting"),
				queue(d.queues.offers, "ApproximateAgeOfOldestMessage", "Maximum", "age of the oldest (s)"),
				queue(d.queues.deadOffers, "ApproximateNumberOfMessagesVisible", "Maximum", "dead offers"),
				queue(d.queues.deadEvents, "ApproximateNumberOfMessagesVisible", "Maximum", "dead events"),
			}),
			d.graph("Pickup, start, connect (s)", 300, latency),
		},
		{
			d.graph("Sessions", 300, own("Sum", telemetry.Claimed, telemetry.Completed, telemetry.Suspended, telemetry.Lost, telemetry.GaveUp, telemetry.Refused, telemetry.Drained)),
			d.graph("Launches", 300, own("Sum", telemetry.Launched, telemetry.LaunchFailed, telemetry.BreakerOpened)),
			d.query("Changes of state", `filter msg like /^session (reserved|claimed|launching|running|stopping|ended)$/ | stats count(*) by msg, bin(5m)`),
		},
		{
			d.query("Failures by reason", `filter msg in ["launch refused", "launch unclear", "session stopping", "breaker opened"] and ispresent(reason) | stats count(*) as times by msg, capacity, reason | sort times desc | limit 20`),
			d.query("Launches by capacity", `filter msg = "session launching" | stats count(*) as launches by capacity, outpost_id`),
			// The account's use of Fargate is what AWS reports for nothing; vCPUs times hours, the area below the lines, are most of the bill.
			d.graph("Fargate vCPUs of the account", 3600, []line{vcpus("Standard/OnDemand", "on demand"), vcpus("Standard/Spot", "Spot")}),
		},
		{
			d.graph("Function errors and throttles", 300, append(lambda("Errors", "Sum", " errors"), lambda("Throttles", "Sum", " throttled")...)),
			d.graph("Function duration, longest (ms)", 300, lambda("Duration", "Maximum", "")),
			d.graph("Listings", 300, own("Sum", telemetry.PollSucceeded, telemetry.PollFailed, telemetry.StoodIn)),
		},
	}
	var widgets []any
	for y, row := range rows {
		for x, w := range row {
			widget := w.(map[string]any)
			widget["x"], widget["y"], widget["width"], widget["height"] = 8*x, 6*y, 8, 6
			widgets = append(widgets, widget)
		}
	}
	awscloudwatch.NewCfnDashboard(d.Stack, jsii.String("Dashboard"), &awscloudwatch.CfnDashboardProps{
		DashboardBody: d.ToJsonString(map[string]any{"start": "-PT6H", "widgets": widgets}, nil),
	})
}

func statisticLabel(statistic string) string {
	if strings.HasPrefix(statistic, "p") {
		return " " + statistic
	}
	return ""
}

func (d *Deployment) graph(title string, seconds int, lines []line) map[string]any {
	return map[string]any{"type": "metric", "properties": map[string]any{
		"title": title, "region": d.Region(), "view": "timeSeries", "period": seconds, "metrics": lines,
	}}
}

// query is a table read from the functions' logs, when somebody looks; it costs by what it reads.
func (d *Deployment) query(title, text string) map[string]any {
	var sources strings.Builder
	for _, name := range Functions {
		fmt.Fprintf(&sources, "SOURCE '%s' | ", *d.functions[name].log)
	}
	return map[string]any{"type": "log", "properties": map[string]any{
		"title": title, "region": d.Region(), "view": "table", "query": sources.String() + text,
	}}
}
