// Package alarms declares every alarm of a deployment: what it reads, when it rings, and what whoever is woken by it should know. The stack makes the alarms
// from here, and docs/alarms.md is generated from here.
package alarms

import "github.com/devin-outposts/devin-outposts-aws/shared/telemetry"

// Alarm is one alarm; alarms that read a metric of ours, or concern a function, are made once for each outpost or function.
type Alarm struct {
	// Name is its id in the stack and the heading of its entry in docs/alarms.md.
	Name string
	// Essential alarms are made with `alarms: essential`, the others with `all` only.
	Essential bool
	// Own is the metric of ours that it reads, for each outpost; Built is one of AWS's own. Exactly one is set.
	Own   *telemetry.Metric
	Built *Built
	// Statistic over each period.
	Statistic Statistic
	// Rings when the statistic is below (Silence) or at least (otherwise) Threshold in Periods periods of Seconds each, one after the other.
	Threshold float64
	Seconds   int
	Periods   int
	// Silence says that the lack of a metric is the fault. Everywhere else no news is good news: missing data never rings.
	Silence bool

	// What the runbook says. Means: what has happened, and what that does to sessions. Look: where to see more. Do: what mends it.
	Means, Look, Do string
}

// Statistic is one of CloudWatch's.
type Statistic string

// The statistics in use.
const (
	Sum     Statistic = "Sum"
	Maximum Statistic = "Maximum"
)

// Built is a metric that AWS itself reports.
type Built struct {
	Namespace, Name, Unit string
	// Of is what it is about: the function or queue of that name.
	Of string
}

// Queues that alarms can be about, besides the functions.
const (
	Offers     = "offers"
	DeadOffers = "dead offers"
	DeadEvents = "dead events"
)

func lambda(name, function string) *Built {
	unit := "Count"
	if name == "Duration" {
		unit = "Milliseconds"
	}
	return &Built{Namespace: "AWS/Lambda", Name: name, Unit: unit, Of: function}
}

func sqs(name, queue string) *Built {
	unit := "Count"
	if name == "ApproximateAgeOfOldestMessage" {
		unit = "Seconds"
	}
	return &Built{Namespace: "AWS/SQS", Name: name, Unit: unit, Of: queue}
}

// All are the alarms for functions with these time limits in seconds.
func All(timeouts map[string]int) []Alarm {
	all := []Alarm{
		{
			Name: "PollSilent", Essential: true, Own: &telemetry.PollSucceeded, Statistic: Sum, Threshold: 1, Seconds: 60, Periods: 5, Silence: true,
			Means: "poll has not listed the outpost's queue for five minutes. sweep lists in its place after three, if it can: then sessions are seen late. Sessions that run are not harmed.",
			Look:  "The logs of poll and sweep: `sweep stands in` (sessions are served), `fleet API wants to be left alone` (then it is nobody's fault, and passes within a quarter of an hour), `poll failed`, `sweep failed`, and lines without JSON, which are start-up errors. Is the schedule enabled? Does `PollFailed` count, or is there nothing at all?",
			Do:    "Nothing at all in the logs: look at the schedule and at Lambda's throttles. `configuration` errors: correct cdk.json and deploy. Errors of the API: see PollFailing and TokenRejected.",
		},
		{
			Name: "SweepSilent", Essential: true, Built: lambda("Invocations", "sweep"), Statistic: Sum, Threshold: 1, Seconds: 60, Periods: 5, Silence: true,
			Means: "sweep has not run for five minutes. Claims are not renewed, and what the other functions miss is not repaired: sessions whose workers still start lose their claims.",
			Look:  "EventBridge Scheduler: is the schedule enabled, and does its role still exist? Lambda: is the account's concurrency used up (`Throttles`)?",
			Do:    "Enable the schedule or deploy again. Used-up concurrency: ask AWS for more, or find who uses it.",
		},
		{
			Name: "SweepFailing", Essential: true, Built: lambda("Errors", "sweep"), Statistic: Sum, Threshold: 3, Seconds: 300, Periods: 1,
			Means: "Runs of sweep end with errors or run out of time. One now and then is repaired by the next; three in five minutes are not luck.",
			Look:  "sweep's log: `sweep failed` with its `error`; `Task timed out` from Lambda itself.",
			Do:    "Denied: a policy was changed by hand; deploy again. Timed out: is DynamoDB or ECS slow, or do far more sessions run than usual? An `error` that repeats and is no outage belongs in a bug report.",
		},
		{
			Name: "SessionsWaitTooLong", Essential: true, Own: &telemetry.OldestWaiting, Statistic: Maximum, Threshold: 600, Seconds: 60, Periods: 5,
			Means: "A claimable session has waited for ten minutes, for five minutes on end. With a free slot it should be claimed within five.",
			Look:  "Are all slots in use (`max_sessions` against the table's `slots_used`)? Then the outpost is simply full. If not: is a breaker open, does claim fail (`claim`'s log, ClaimErrors), are offers stuck (OffersOld)?",
			Do:    "Full: raise `maxSessions`, and the Fargate vCPU quota with it. Otherwise mend what the other alarms say.",
		},
		{
			Name: "TokenRejected", Essential: true, Own: &telemetry.TokenRejected, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "Devin refused the account token (401 or 403), also after it was read again. No session of this outpost is seen or claimed, and claims are not renewed.",
			Look:  "The service user in Devin: does it exist, with the scope for Outposts? The secret: is its value the token (`cog_…`), or JSON with a `token` key?",
			Do:    "Make a new token in Devin and put it into the secret. The functions read it within a minute; nothing needs to be deployed.",
		},
		{
			Name: "BreakerOpened", Essential: true, Own: &telemetry.BreakerOpened, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "Launches in one capacity choice fail for a reason that is not the session's: the image is missing, a role is denied, a quota is used up. No new session goes there until a probe succeeds; other choices are not touched.",
			Look:  "`breaker opened` in the logs of claim, observe and sweep names the capacity and the reason in AWS's words.",
			Do:    "CannotPullContainer: push the image or correct its name. Denied: deploy again. vCPU limit: ask AWS for more Fargate. The breaker closes by itself with the next launch that works.",
		},
		{
			Name: "SessionsGivenUp", Essential: true, Own: &telemetry.GaveUp, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "A session went back to the queue after its last attempt, or at its maximum age. It is tried again after one, five, then thirty minutes.",
			Look:  "`session ended` with `outcome` gave_up, and its `reason`; then the worker's log of that session (the stream's name begins with the outpost's id).",
			Do:    "Exit 10, 11, 14, 16: the image or the configuration; see [worker.md](worker.md). Exit 15: the set-up script. Out of memory: raise `memory`. Age: raise `maxSessionHours`.",
		},
		{
			Name: "OffersDead", Essential: true, Built: sqs("ApproximateNumberOfMessagesVisible", DeadOffers), Statistic: Maximum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "An offer failed five times and was put aside. Its session is not lost: poll offers it again. But claim fails for it in a way that retries do not mend.",
			Look:  "The message in the dead-letter queue names the session; look for its id in claim's log.",
			Do:    "Mend what the log says, then purge the dead-letter queue. There is no need to send the messages back.",
		},
		{
			Name: "EventsDead", Essential: true, Built: sqs("ApproximateNumberOfMessagesVisible", DeadEvents), Statistic: Maximum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "A task's change of state did not get through to observe. sweep sees the task within a minute all the same, so sessions end later than they could, but they end.",
			Look:  "observe's log, and the message's attributes, which give EventBridge's or Lambda's reason.",
			Do:    "Mend what the log says, then purge the dead-letter queue.",
		},
		{
			Name: "LeasesStuck", Essential: true, Own: &telemetry.LeasesStuck, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "A session has been on its way (reserved, claimed, launching or stopping) for longer than any pass takes. Its slot is in use meanwhile.",
			Look:  "`lease stuck` in sweep's log: the state, for how long, and the last reason. The task in ECS, if the lease names one.",
			Do:    "StopTask denied or failing: see StopsRefused. The API of Devin failing for one session: wait, or release it by hand there. Otherwise it is a bug; the lease's item in the table belongs in the report.",
		},
		{
			Name: "PollFailing", Own: &telemetry.PollFailed, Statistic: Sum, Threshold: 5, Seconds: 300, Periods: 2,
			Means: "Listings of the queue fail again and again. Sessions are seen late.",
			Look:  "`poll failed` with its `error`. Devin's status page.",
			Do:    "429 or 5xx: wait; poll slows down by itself. Name or network errors: is `apiUrl` right?",
		},
		{
			Name: "OffersOld", Built: sqs("ApproximateAgeOfOldestMessage", Offers), Statistic: Maximum, Threshold: 900, Seconds: 300, Periods: 1,
			Means: "An offer has been in the queue for a quarter of an hour: claim does not keep up, or fails and retries.",
			Look:  "claim's log (`offer comes back`), its errors, its duration and throttles.",
			Do:    "Is the event source mapping enabled? Is Lambda throttled? Does DynamoDB or Devin's API answer slowly?",
		},
		{
			Name: "LaunchesFailing", Own: &telemetry.LaunchFailed, Statistic: Sum, Threshold: 5, Seconds: 900, Periods: 1,
			Means: "Five attempts have failed within a quarter of an hour: refused by ECS, never started, or ended by a fault. The sessions are tried again within their budget.",
			Look:  "`launch refused` and `session stopping` with their `reason`. The dashboard's table of reasons.",
			Do:    "Spot interruptions: put `fargate` before or after `fargate-spot`. Image, role, quota: see BreakerOpened. Exit codes of the worker: see SessionsGivenUp.",
		},
		{
			Name: "ClaimsRenewedLate", Own: &telemetry.RenewedLate, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "A claim was renewed with less than a quarter of its life left; it should be renewed at half. A little later and the session would have gone to somebody else.",
			Look:  "Did sweep run each minute, and did it get through (`sweep out of time`)? Did Devin's API answer slowly?",
			Do:    "Mend what keeps sweep from its work; see SweepFailing and SweepSlow.",
		},
		{
			Name: "SlotsCorrected", Own: &telemetry.SlotsCorrected, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "The counter of slots did not equal the leases in three sweeps in a row, and was corrected. Leases and counter are written in one transaction, so this should never be.",
			Look:  "`slots corrected` in sweep's log: from, to. Did somebody write to the table by hand, or restore it?",
			Do:    "If nobody did, it is a bug; report it with the log. Nothing needs mending.",
		},
		{
			Name: "OrphansReaped", Own: &telemetry.Orphans, Statistic: Sum, Threshold: 1, Seconds: 300, Periods: 1,
			Means: "A task or a claim of this deployment had no lease that names it, in two sweeps, and was stopped or released. Money was spent on a worker that served nobody.",
			Look:  "`orphan` in the logs of sweep. Was a task started by hand from one of the stack's task definitions? Was a table restored or deleted?",
			Do:    "Now and then after an outage of ECS: nothing. Often: report it with the log.",
		},
		{
			Name: "StopsRefused", Own: &telemetry.StopsRefused, Statistic: Sum, Threshold: 3, Seconds: 300, Periods: 1,
			Means: "ECS refuses to stop a task. Its lease keeps its slot until the task is really stopped.",
			Look:  "The logs of sweep, with ECS's words.",
			Do:    "Denied: a policy was changed by hand; deploy again. Otherwise stop the task in the ECS console.",
		},
		{
			Name: "SweepStoodIn", Own: &telemetry.StoodIn, Statistic: Sum, Threshold: 3, Seconds: 300, Periods: 1,
			Means: "sweep does the work of poll or claim. Sessions start, but later than they could.",
			Look:  "`sweep stands in` in sweep's log: an old `last_poll` says that poll does not list; sessions in `taken` beside a recent one say that claim does not take them.",
			Do:    "Look at the log of that function, and whether its trigger (schedule, event source mapping) is enabled.",
		},
	}
	for _, name := range []string{"poll", "claim", "observe"} {
		all = append(all, Alarm{
			Name: title(name) + "Errors", Built: lambda("Errors", name), Statistic: Sum, Threshold: 3, Seconds: 300, Periods: 1,
			Means: "Invocations of " + name + " end with errors or run out of time. " + whatStands[name],
			Look:  "The log of " + name + ": the lines before `Task timed out` or `Runtime.ExitError`, or `error`.",
			Do:    "Denied: a policy was changed by hand; deploy again. Exit before the first request: the configuration; the line says what is wrong with it. A crash belongs in a bug report.",
		})
	}
	for _, name := range []string{"poll", "claim", "observe", "sweep"} {
		all = append(all, Alarm{
			Name: title(name) + "Throttled", Built: lambda("Throttles", name), Statistic: Sum, Threshold: 3, Seconds: 300, Periods: 1,
			Means: "Lambda did not start " + name + " because the account's concurrency in this region is used up. " + whatStands[name],
			Look:  "Lambda's `ConcurrentExecutions` of the region: who uses it? A new account may have ten in all.",
			Do:    "Ask AWS for more (Service Quotas, Lambda, concurrent executions), or reserve concurrency for whoever takes it all. This stack needs about eight.",
		}, Alarm{
			Name: title(name) + "Slow", Built: lambda("Duration", name), Statistic: Maximum, Threshold: nearLimit(timeouts[name]), Seconds: 300, Periods: 3,
			Means: "Invocations of " + name + " come close to their time limit, at which Lambda kills them.",
			Look:  "The log of " + name + ": between which lines does time pass? DynamoDB's and Devin's latencies.",
			Do:    "An outage passes. If far more sessions run than usual, split the outposts over two stacks.",
		})
	}
	return all
}

// whatStands says what a broken function means for sessions.
var whatStands = map[string]string{
	"poll":    "sweep lists in its place after three minutes; sessions are seen late.",
	"claim":   "sweep takes sessions that have waited for three minutes beside a free slot, and observe does when a slot comes free; sessions start late.",
	"observe": "sweep sees tasks each minute; sessions end late.",
	"sweep":   "Claims may not be renewed, and nothing repairs what the others miss.",
}

// nearLimit is 95 % of a limit given in seconds, in the milliseconds of Lambda's metric.
func nearLimit(seconds int) float64 { return float64(seconds) * 950 }

func title(name string) string { return string(name[0]-'a'+'A') + name[1:] }
