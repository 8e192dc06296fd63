package session

// The words of the fleet API that the core knows.
const (
	PhasePending = "pending"
	PhaseClaimed = "claimed"

	StatusPending    = "pending"
	StatusRunning    = "running"
	StatusSuspended  = "suspended"
	StatusTerminated = "terminated"
)

// Unclaimable says why an entry must not be claimed under these terms; empty means that it may be. A released session whose status is suspended or terminated
// stands in the queue as pending until the service prunes it, and must never be claimed.
func (e Entry) Unclaimable(t Terms) string {
	switch {
	case e.Reading != Present:
		return "not in the queue"
	case e.Phase != PhasePending:
		return "already claimed"
	case !e.waits():
		return "the session is " + e.Status + ", not waiting"
	case e.Platform != "" && e.Platform != "linux":
		return "for another platform: " + e.Platform
	case e.Restricted && t.RefusePolicies:
		return "it carries a network policy, and this outpost refuses those"
	}
	return ""
}

// Claimable says whether the entry waits for a worker, of whatever kind.
func (e Entry) Claimable() bool { return e.Reading == Present && e.Phase == PhasePending && e.waits() }

// unknown says whether reading the entry failed.
func (e Entry) unknown() bool { return e.Reading == Failing || e.Reading == Garbled }

// waits says whether the session wants a worker.
func (e Entry) waits() bool { return e.Status == StatusPending || e.Status == StatusRunning }

// mine says whether the entry's claim is ours.
func (e Entry) mine(t Terms) bool { return e.Phase == PhaseClaimed && e.AcceptorID == t.AcceptorID }

// stolen says whether somebody else holds the claim.
func (e Entry) stolen(t Terms) bool { return e.Phase == PhaseClaimed && e.AcceptorID != t.AcceptorID }
