package main

import (
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// leaseRow is a lease as it is shown. The encrypted connect token is left out on purpose.
type leaseRow struct {
	SessionID   string    `json:"session_id"`
	OutpostID   string    `json:"outpost_id"`
	State       string    `json:"state"`
	Outcome     string    `json:"outcome,omitempty"`
	Verdict     string    `json:"verdict,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Attempt     int       `json:"attempt"`
	Failures    int       `json:"failures"`
	GaveUps     int       `json:"gave_ups,omitempty"`
	TaskARN     string    `json:"task_arn,omitempty"`
	Capacity    string    `json:"capacity,omitempty"`
	GatewayURL  string    `json:"gateway_url,omitempty"`
	RemoteSHA   string    `json:"remote_sha,omitempty"`
	Epoch       string    `json:"epoch"`
	Rev         int64     `json:"rev"`
	ReservedAt  time.Time `json:"reserved_at,omitzero"`
	ClaimedAt   time.Time `json:"claimed_at,omitzero"`
	ClaimUntil  time.Time `json:"claim_until,omitzero"`
	LaunchUntil time.Time `json:"launch_until,omitzero"`
	ConnectedAt time.Time `json:"connected_at,omitzero"`
	Deadline    time.Time `json:"deadline,omitzero"`
	NotBefore   time.Time `json:"not_before,omitzero"`
	Doubt       string    `json:"doubt,omitempty"`
	DoubtReads  int       `json:"doubt_reads,omitempty"`
	StateAt     time.Time `json:"state_at,omitzero"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

func newLeaseRow(l session.Lease) leaseRow {
	return leaseRow{SessionID: l.SessionID, OutpostID: l.OutpostID, State: string(l.State), Outcome: string(l.Outcome), Verdict: string(l.Verdict), Reason: l.Reason,
		Attempt: l.Attempt, Failures: l.Failures, GaveUps: l.GaveUps, TaskARN: l.TaskARN, Capacity: l.Capacity, GatewayURL: l.GatewayURL, RemoteSHA: l.RemoteSHA,
		Epoch: l.Epoch, Rev: l.Rev, ReservedAt: l.ReservedAt, ClaimedAt: l.ClaimedAt, ClaimUntil: l.ClaimUntil, LaunchUntil: l.LaunchUntil,
		ConnectedAt: l.ConnectedAt, Deadline: l.Deadline, NotBefore: l.NotBefore, Doubt: string(l.Doubt.Kind), DoubtReads: l.Doubt.Reads,
		StateAt: l.StateAt, UpdatedAt: l.UpdatedAt, EndedAt: l.EndedAt}
}
