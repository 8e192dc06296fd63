package lease

import (
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// item is a lease as it is stored. Times are RFC 3339 strings in UTC, and absent when zero; expires_at is in Unix seconds, as DynamoDB's time to live wants it.
type item struct {
	PK            string `dynamodbav:"pk"`
	ActiveOutpost string `dynamodbav:"active_outpost,omitempty"`
	Schema        int    `dynamodbav:"schema"`
	SessionID     string `dynamodbav:"session_id"`
	OutpostID     string `dynamodbav:"outpost_id"`
	State         string `dynamodbav:"state"`
	Outcome       string `dynamodbav:"outcome,omitempty"`
	Verdict       string `dynamodbav:"verdict,omitempty"`
	Reason        string `dynamodbav:"reason,omitempty"`
	Epoch         string `dynamodbav:"epoch"`
	Rev           int64  `dynamodbav:"rev"`
	Writer        string `dynamodbav:"writer,omitempty"`
	Attempt       int    `dynamodbav:"attempt"`
	Failures      int    `dynamodbav:"failures"`
	GaveUps       int    `dynamodbav:"gave_ups"`
	TaskARN       string `dynamodbav:"task_arn,omitempty"`
	Capacity      string `dynamodbav:"capacity,omitempty"`
	ClaimedAt     string `dynamodbav:"claimed_at,omitempty"`
	ClaimUntil    string `dynamodbav:"claim_until,omitempty"`
	Ciphertext    string `dynamodbav:"ciphertext,omitempty"`
	GatewayURL    string `dynamodbav:"gateway_url,omitempty"`
	RemoteSHA     string `dynamodbav:"remote_sha,omitempty"`
	LaunchUntil   string `dynamodbav:"launch_until,omitempty"`
	Deadline      string `dynamodbav:"deadline,omitempty"`
	NotBefore     string `dynamodbav:"not_before,omitempty"`
	ConnectedAt   string `dynamodbav:"connected_at,omitempty"`
	DoubtKind     string `dynamodbav:"doubt,omitempty"`
	DoubtReads    int    `dynamodbav:"doubt_reads,omitempty"`
	DoubtAt       string `dynamodbav:"doubt_at,omitempty"`
	ReservedAt    string `dynamodbav:"reserved_at,omitempty"`
	StateAt       string `dynamodbav:"state_at,omitempty"`
	UpdatedAt     string `dynamodbav:"updated_at,omitempty"`
	EndedAt       string `dynamodbav:"ended_at,omitempty"`
	ExpiresAt     int64  `dynamodbav:"expires_at,omitempty"`
}

// store is the item of a lease.
func store(l session.Lease) item {
	it := item{PK: sessionKey(l.SessionID), Schema: l.Schema, SessionID: l.SessionID, OutpostID: l.OutpostID, State: string(l.State), Outcome: string(l.Outcome),
		Verdict: string(l.Verdict), Reason: l.Reason, Epoch: l.Epoch, Rev: l.Rev, Writer: l.Writer, Attempt: l.Attempt, Failures: l.Failures, GaveUps: l.GaveUps, TaskARN: l.TaskARN,
		Capacity: l.Capacity, ClaimedAt: text(l.ClaimedAt), ClaimUntil: text(l.ClaimUntil), Ciphertext: l.Ciphertext, GatewayURL: l.GatewayURL, RemoteSHA: l.RemoteSHA,
		LaunchUntil: text(l.LaunchUntil), Deadline: text(l.Deadline), NotBefore: text(l.NotBefore), ConnectedAt: text(l.ConnectedAt), DoubtKind: string(l.Doubt.Kind),
		DoubtReads: l.Doubt.Reads, DoubtAt: text(l.Doubt.At), ReservedAt: text(l.ReservedAt), StateAt: text(l.StateAt), UpdatedAt: text(l.UpdatedAt), EndedAt: text(l.EndedAt)}
	if l.Active() {
		it.ActiveOutpost = l.OutpostID
	}
	if l.State == session.Ended && !l.ExpiresAt.IsZero() {
		it.ExpiresAt = l.ExpiresAt.Unix()
	}
	return it
}

// load is the lease of an item. A time that cannot be read is zero: a row of a newer version is left alone anyway.
func load(it item) session.Lease {
	l := session.Lease{Schema: it.Schema, SessionID: it.SessionID, OutpostID: it.OutpostID, State: session.State(it.State), Outcome: session.Outcome(it.Outcome),
		Verdict: session.Verdict(it.Verdict), Reason: it.Reason, Epoch: it.Epoch, Rev: it.Rev, Writer: it.Writer, Attempt: it.Attempt, Failures: it.Failures, GaveUps: it.GaveUps,
		TaskARN: it.TaskARN, Capacity: it.Capacity, ClaimedAt: moment(it.ClaimedAt), ClaimUntil: moment(it.ClaimUntil), Ciphertext: it.Ciphertext,
		GatewayURL: it.GatewayURL, RemoteSHA: it.RemoteSHA, LaunchUntil: moment(it.LaunchUntil), Deadline: moment(it.Deadline), NotBefore: moment(it.NotBefore),
		ConnectedAt: moment(it.ConnectedAt), ReservedAt: moment(it.ReservedAt), StateAt: moment(it.StateAt), UpdatedAt: moment(it.UpdatedAt), EndedAt: moment(it.EndedAt)}
	l.Doubt = session.Doubt{Kind: session.DoubtKind(it.DoubtKind), Reads: it.DoubtReads, At: moment(it.DoubtAt)}
	if it.ExpiresAt != 0 {
		l.ExpiresAt = time.Unix(it.ExpiresAt, 0).UTC()
	}
	return l
}

// text writes a time for the table.
func text(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// moment reads a time from the table.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

func sessionKey(id string) string { return "session#" + id }
func outpostKey(id string) string { return "outpost#" + id }
func healthKey(id string) string  { return "health#" + id }

const (
	outpostsKey  = "outposts"
	activeIndex  = "active"
	breakerStart = "breaker#"
)
