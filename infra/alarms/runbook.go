package alarms

import (
	"fmt"
	"strings"
)

// Runbook is docs/alarms.md.
func Runbook(all []Alarm) string {
	var out strings.Builder
	out.WriteString(`# Alarms

<!-- Generated from infra/alarms by ` + "`go run ./infra/generate`" + `; change it there. -->

Each alarm's name begins with the stack's, and ends, where there is one for each outpost, with the outpost's id. Alarms go to the SNS topic of the stack
(` + "`alarmEmail`" + `) or to one of yours (` + "`alarmTopic`" + `). ` + "`alarms: essential`" + ` makes the first table's, ` + "`all`" + ` both.

Where the lack of a metric is itself the fault, missing data rings; everywhere else it never does. Such an alarm may ring once right after the first deployment, or when an
outpost is added, and clears by itself within minutes.

`)
	for _, set := range []struct {
		title     string
		essential bool
	}{{"Essential", true}, {"Only with `alarms: all`", false}} {
		fmt.Fprintf(&out, "**%s**\n\n| alarm | rings when | missing data |\n| --- | --- | --- |\n", set.title)
		for _, a := range all {
			if a.Essential == set.essential {
				fmt.Fprintf(&out, "| [%s](#%s) | %s | %s |\n", a.Name, strings.ToLower(a.Name), a.when(), map[bool]string{true: "rings", false: "is fine"}[a.Silence])
			}
		}
		out.WriteString("\n")
	}
	for _, a := range all {
		fmt.Fprintf(&out, "## %s\n\n*%s.*\n\n**Means.** %s\n\n**Look.** %s\n\n**Do.** %s\n\n", a.Name, a.when(), a.Means, a.Look, a.Do)
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// when says in words when the alarm rings.
func (a Alarm) when() string {
	metric := ""
	if a.Own != nil {
		metric = "`" + a.Own.Name + "` of an outpost"
	} else {
		metric = fmt.Sprintf("`%s` of %s", a.Built.Name, a.Built.Of)
		if a.Built.Namespace == "AWS/SQS" {
			metric = fmt.Sprintf("`%s` of the queue of %s", a.Built.Name, a.Built.Of)
		}
	}
	compare := "at least"
	if a.Silence {
		compare = "below"
	}
	over := span(a.Seconds)
	if a.Periods > 1 {
		over = fmt.Sprintf("each of %d periods of %s", a.Periods, span(a.Seconds))
	}
	return fmt.Sprintf("%s of %s %s %v within %s", strings.ToLower(string(a.Statistic)), metric, compare, a.Threshold, over)
}

func span(seconds int) string {
	if seconds == 60 {
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", seconds/60)
}
