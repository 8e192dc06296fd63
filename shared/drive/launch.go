package drive

import (
	"context"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// callFor bounds one RunTask.
const callFor = 10 * time.Second

// runTask sends the lease's attempt to ECS, never after its LaunchUntil.
func (r *drive) runTask(ctx context.Context) {
	l := r.v.Lease
	left := min(callFor, l.LaunchUntil.Sub(r.v.Now))
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	try := r.Tasks.Run(ctx, r.launch(r.v.Now.Add(left)))
	r.v.Tasks = session.Tasks{}
	switch try.Kind {
	case session.Accepted:
		r.ours[l.AttemptID()] = try.ARN
		r.v.Tasks = session.Tasks{Reading: session.Present, At: r.v.Now, Partial: true,
			List: []session.Task{{ARN: try.ARN, AttemptID: l.AttemptID(), Status: "PROVISIONING", Desired: "RUNNING", CreatedAt: r.v.Now}}}
		r.Metrics.Count(l.OutpostID, telemetry.Launched, 1)
	case session.Unclear:
		r.v.Limit = session.Own
		try.Until = r.later(soon)
		r.Log.Warn("launch unclear", "session_id", l.SessionID, "outpost_id", l.OutpostID, "attempt", l.Attempt, "capacity", l.Capacity, "reason", try.Reason)
	default:
		r.Log.Warn("launch refused", "session_id", l.SessionID, "outpost_id", l.OutpostID, "attempt", l.Attempt, "capacity", l.Capacity, "reason", try.Reason)
	}
	r.v.Try = try
}

// launch is the lease's attempt as ECS gets it. Everything comes from the lease and the configuration, so that a repeated call is the same call.
func (r *drive) launch(until time.Time) tasks.Launch {
	l, c := r.v.Lease, r.job.Outpost.Config.Find(r.v.Lease.Capacity)
	return tasks.Launch{TaskDefinition: c.TaskDefinition, Container: c.Container, Provider: c.Provider, Subnets: c.Subnets, SecurityGroups: c.SecurityGroups,
		AssignPublicIP: c.AssignPublicIP, OutpostID: l.OutpostID, SessionID: l.SessionID, GatewayURL: l.GatewayURL, Ciphertext: l.Ciphertext,
		RemoteSHA: l.RemoteSHA, AttemptID: l.AttemptID(), Deadline: l.Deadline, Until: until,
		PlatformVersion: c.PlatformVersion, Exec: c.Exec, PropagateTags: c.PropagateTags}
}

// stopTask tells a task to stop.
func (r *drive) stopTask(ctx context.Context, a session.StopTask) {
	if err := r.Tasks.Stop(ctx, a.ARN, a.Why); err != nil {
		r.blocked(err)
		r.v.Try = session.Try{Kind: session.StopFailed, Reason: err.Error()}
		if awserr.AccessDenied(err) {
			r.Metrics.Count(r.job.Outpost.ID, telemetry.StopsRefused, 1)
		}
		return
	}
	r.v.Try = session.Try{Kind: session.StopSent}
	for i := range r.v.Tasks.List {
		t := &r.v.Tasks.List[i]
		if t.ARN != a.ARN {
			continue
		}
		t.Desired = "STOPPED"
		if !t.Orphan.IsZero() {
			r.Metrics.Count(r.job.Outpost.ID, telemetry.Orphans, 1)
		}
	}
	r.Log.Info("task told to stop", "session_id", r.job.SessionID, "outpost_id", r.job.Outpost.ID, "task_arn", a.ARN, "reason", a.Why)
}

// disown stops the tasks that this drive launched for attempts which the lease, as read anew, does not name: somebody else went on without them.
func (r *drive) disown(ctx context.Context) {
	for attempt, arn := range r.ours {
		if r.v.Lease.Active() && r.v.Lease.AttemptID() == attempt {
			continue
		}
		if err := r.Tasks.Stop(ctx, arn, "another attempt took over"); err != nil {
			r.blocked(err) // sweep finds it as an orphan
			continue
		}
		delete(r.ours, attempt)
	}
}
