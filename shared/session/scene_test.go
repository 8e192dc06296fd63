package session_test

import (
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

const (
	acceptor = "acceptor-1"
	arn      = "arn:task/1"
	otherARN = "arn:task/other"
)

// t0 is when the lease of every scene was reserved.
var t0 = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

var allStates = []session.State{session.Reserved, session.Claimed, session.Launching, session.Running, session.Stopping, session.Ended}

func after(d time.Duration) time.Time { return t0.Add(d) }

func terms() session.Terms {
	return session.Terms{Known: true, AcceptorID: acceptor, MaxFailures: 3, MaxAge: 24 * time.Hour, RefusePolicies: true,
		Capacity: []session.Choice{{Name: "spot"}, {Name: "fargate"}}}
}

// held is a lease as it stands after an undisturbed way to the state: reserved at t0, claimed a second later, launched after two, running after forty, stopping
// after a minute.
func held(s session.State) *session.Lease {
	l := &session.Lease{Schema: session.SchemaVersion, SessionID: "devin-1", OutpostID: "outpost_env-1", State: s, Epoch: "epoch-1", Rev: 1,
		ReservedAt: t0, StateAt: t0, UpdatedAt: t0}
	to := func(rev int64, at time.Duration) { l.Rev, l.StateAt, l.UpdatedAt = rev, after(at), after(at) }
	if s == session.Reserved {
		return l
	}
	to(2, time.Second)
	l.ClaimedAt, l.ClaimUntil = t0, after(5*time.Minute)
	l.Ciphertext, l.GatewayURL, l.RemoteSHA = "sealed", "wss://gateway.example", "a1b2c3d4e5"
	if s == session.Claimed {
		return l
	}
	to(3, 2*time.Second)
	l.Attempt, l.Capacity, l.LaunchUntil, l.Deadline = 1, "spot", after(32*time.Second), after(24*time.Hour)
	if s == session.Launching {
		return l
	}
	l.TaskARN = arn
	to(5, 40*time.Second)
	if s == session.Running {
		return l
	}
	to(6, time.Minute)
	if s == session.Stopping {
		l.Verdict = session.CleanExit
		return l
	}
	to(8, 2*time.Minute)
	l.Outcome, l.EndedAt, l.ExpiresAt, l.Ciphertext = session.Completed, after(2*time.Minute), after(2*time.Minute+session.KeepEnded), ""
	return l
}

// with changes a copy of a lease.
func with(l *session.Lease, changes ...func(*session.Lease)) *session.Lease {
	c := *l
	for _, change := range changes {
		change(&c)
	}
	return &c
}

// next is the lease's next revision, written at the given time.
func next(l *session.Lease, at time.Duration, changes ...func(*session.Lease)) session.Lease {
	c := *with(l, changes...)
	c.Rev, c.UpdatedAt = l.Rev+1, after(at)
	if c.State != l.State {
		c.StateAt = c.UpdatedAt
	}
	return c
}

// view is what is known at the given time of a lease.
func view(l *session.Lease, at time.Duration) session.View {
	return session.View{Now: after(at), Lease: l, Terms: terms()}
}

// entry is the session's queue entry as it was read at the given time.
func entry(phase, status string, at time.Duration) session.Entry {
	e := session.Entry{Reading: session.Present, At: after(at), SessionID: "devin-1", OutpostID: "outpost_env-1", Phase: phase, Status: status, CreatedAt: after(-time.Minute)}
	if phase == session.PhaseClaimed {
		e.AcceptorID = acceptor
	}
	return e
}

func ours(status string, at time.Duration) session.Entry {
	return entry(session.PhaseClaimed, status, at)
}

func waiting(status string, at time.Duration) session.Entry {
	return entry(session.PhasePending, status, at)
}

func theirs(at time.Duration) session.Entry {
	e := ours(session.StatusPending, at)
	e.AcceptorID = "somebody-else"
	return e
}

func absent(at time.Duration) session.Entry {
	return session.Entry{Reading: session.Absent, At: after(at)}
}

// tasks is the list of the session's tasks as it was read at the given time.
func tasks(at time.Duration, list ...session.Task) session.Tasks {
	return session.Tasks{Reading: session.Present, At: after(at), List: list}
}

// task is the task of the lease's attempt.
func task(l *session.Lease, status string) session.Task {
	return session.Task{ARN: arn, AttemptID: l.AttemptID(), Status: status, Desired: "RUNNING", Version: 3, CreatedAt: after(3 * time.Second)}
}

func stopped(l *session.Lease, x session.Exit) session.Task {
	t := task(l, "STOPPED")
	t.Desired, t.Exit = "STOPPED", &x
	return t
}

// other is a task of the session that the lease does not name, first sighted at the given time; before t0 = never.
func other(status string, sighted time.Duration) session.Task {
	t := session.Task{ARN: otherARN, AttemptID: "another-attempt", Status: status, Desired: "RUNNING", Version: 3}
	if sighted >= 0 {
		t.Orphan = after(sighted)
	}
	return t
}

func grant(began time.Duration) session.Try {
	return session.Try{Kind: session.Granted, Grant: session.Grant{Status: session.StatusPending,
		Began: after(began), Life: 5 * time.Minute, Ciphertext: "sealed again", GatewayURL: "wss://gateway.example", RemoteSHA: "a1b2c3d4e5"}}
}

func renewal(began time.Duration) session.Try {
	t := grant(began)
	t.Grant.Ciphertext = ""
	return t
}

// answers fails the test unless Next answers the View with this very action.
func answers(t *testing.T, v session.View, want session.Action) {
	t.Helper()
	if diff := cmp.Diff(want, session.Next(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
