package telemetry

// Metric is one of the figures that the functions report. The set is declared here and nowhere else; alarms, the dashboard and the runbook name them from here.
type Metric struct {
	Name    string
	Unit    string // a CloudWatch unit
	Meaning string
}

// The metrics, each with the dimensions AcceptorId (the deployment) and OutpostId.
var (
	PollSucceeded  = Metric{"PollSucceeded", "Count", "Listings of the outpost's queue that succeeded. The one metric that is reported when nothing happens."}
	PollFailed     = Metric{"PollFailed", "Count", "Listings of the outpost's queue that failed."}
	TokenRejected  = Metric{"TokenRejected", "Count", "Calls that Devin refused because of the account token."}
	OldestWaiting  = Metric{"OldestWaitingSeconds", "Seconds", "How long the oldest claimable session has waited."}
	Offered        = Metric{"SessionsOffered", "Count", "Offers sent to the queue."}
	Skipped        = Metric{"EntriesSkipped", "Count", "Waiting entries that this outpost does not serve: malformed, for another platform, or under a network policy."}
	BadOffers      = Metric{"OffersMalformed", "Count", "Messages on the offer queue that are no offers."}
	AtCapacity     = Metric{"OffersAtCapacity", "Count", "Offers that found no free slot."}
	ClaimsLost     = Metric{"ClaimsLost", "Count", "Claims that another worker won, before any launch."}
	Claimed        = Metric{"SessionsClaimed", "Count", "Sessions claimed."}
	PickupTime     = Metric{"PickupSeconds", "Seconds", "From the session's entry into the queue to our claim."}
	Launched       = Metric{"TasksLaunched", "Count", "Tasks that ECS accepted."}
	LaunchFailed   = Metric{"LaunchesFailed", "Count", "Attempts that failed: refused by ECS, never started, or ended by a fault."}
	StartTime      = Metric{"StartSeconds", "Seconds", "From a task's launch to RUNNING."}
	ConnectTime    = Metric{"ConnectSeconds", "Seconds", "From our claim to the first sight of the session being served."}
	RenewedLate    = Metric{"ClaimsRenewedLate", "Count", "Claims renewed with less than a quarter of their life left."}
	Completed      = Metric{"SessionsCompleted", "Count", "Sessions that ended because they were over."}
	Suspended      = Metric{"SessionsSuspended", "Count", "Sessions that ended because they sleep."}
	Lost           = Metric{"SessionsLost", "Count", "Sessions that ended because their claim was lost."}
	GaveUp         = Metric{"SessionsGivenUp", "Count", "Sessions given back after their last attempt or at their maximum age."}
	Refused        = Metric{"SessionsRefused", "Count", "Sessions given back because they cannot be served here."}
	Drained        = Metric{"SessionsDrained", "Count", "Sessions given back because the outpost is being emptied."}
	BreakerOpened  = Metric{"BreakersOpened", "Count", "Capacity choices that stopped taking sessions because launches in them fail for reasons of their own."}
	StopsRefused   = Metric{"StopsRefused", "Count", "StopTask calls that ECS refused."}
	LeasesStuck    = Metric{"LeasesStuck", "Count", "Leases that have been in a passing state for longer than any pass takes."}
	SlotsCorrected = Metric{"SlotsCorrected", "Count", "Corrections of a slot counter that did not equal the leases."}
	Orphans        = Metric{"OrphansReaped", "Count", "Tasks stopped and claims released that no lease named."}
	StoodIn        = Metric{"SweepStoodIn", "Count", "Runs in which sweep did the work of a poll or claim that did not do its own."}
)

// Metrics are all of them.
var Metrics = []Metric{PollSucceeded, PollFailed, TokenRejected, OldestWaiting, Offered, Skipped, BadOffers, AtCapacity, ClaimsLost, Claimed, PickupTime, Launched,
	LaunchFailed, StartTime, ConnectTime, RenewedLate, Completed, Suspended, Lost, GaveUp, Refused, Drained, BreakerOpened, StopsRefused, LeasesStuck, SlotsCorrected,
	Orphans, StoodIn}

// Namespace is the CloudWatch namespace of all metrics.
const Namespace = "DevinOutposts"
