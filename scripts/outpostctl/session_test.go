package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func TestSessionTellsEverythingKnownAndWhatComesNextButNoSecret(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	l := b.await("devin-1", session.Running)
	r := b.ctl("--json", "session", "devin-1")
	r.succeeds(t)
	for name, secret := range map[string]string{"ciphertext": l.Ciphertext, "account token": b.Fleet.Token()} {
		if secret == "" || strings.Contains(r.out, secret) {
			t.Errorf("the %s (%d characters) stands in what was printed", name, len(secret))
		}
	}
	var got report
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	lease := newLeaseRow(l)
	want := report{SessionID: "devin-1", OutpostID: laptop.Outpost, Lease: &lease,
		Entry: &entryRow{Phase: "claimed", AcceptorID: laptop.AcceptorID, Ours: true, Status: "pending", Kind: "new", Platform: "linux"},
		Tasks: []taskRow{{ARN: l.TaskARN, Status: "RUNNING", Desired: "RUNNING", Current: true}},
		Next:  next{Action: "wait", Reason: "all is well"}}
	// Who was faster, and whether the claim was renewed meanwhile, shows in the revision alone.
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{}), cmpopts.IgnoreFields(leaseRow{}, "Rev")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	people := b.ctl("session", "devin-1")
	people.succeeds(t)
	wantText := `session devin-1
outpost outpost_env-demo
lease running since # (attempt 1, 0 failures, #)
 reserved # ago
 claim ends in #
 capacity fargate-spot
 maximum age in 23h59m
queue entry claimed, session pending, new on linux
 queued # ago
 held by us
 claim ends in #
task # RUNNING (wanted RUNNING), of this attempt
next wait until # (in #): all is well
`
	if diff := cmp.Diff(wantText, strings.Replace(steady(people.out), "24h00m", "23h59m", 1)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestSessionThatOnlyWaitsInTheQueueIsToldOf(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.enqueue(1)
	var got report
	b.json(&got, "session", "devin-1")
	want := report{SessionID: "devin-1", OutpostID: laptop.Outpost, Tasks: []taskRow{},
		Entry: &entryRow{Phase: "pending", Status: "pending", Kind: "new", Platform: "linux"},
		Next:  next{Action: "reserve", State: "reserved", Reason: "the session waits and may be taken, if a slot is free"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	b.ctl("session", "devin-2").fails(t, `nothing is known of session "devin-2": it has no lease here, no task, and stands in no queue of the configured outposts (not in the queue)`)
}

func TestSessionWhoseEntryCannotBeReadIsStillToldOf(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	b.await("devin-1", session.Running)
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus, Status: 503})
	var got report
	b.json(&got, "session", "devin-1")
	if got.Entry != nil || !strings.Contains(got.EntryNote, "503") || got.Lease == nil || len(got.Tasks) != 1 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(next{Action: "wait", Reason: "the queue entry cannot be read"}, got.Next, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
		t.Errorf("next (-want +got):\n%s", diff)
	}
}

func TestEveryActionIsToldInWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	l := &session.Lease{State: session.Launching, Attempt: 1, LaunchUntil: at}
	save := func(change func(*session.Lease)) session.Save {
		to := *l
		change(&to)
		return session.Save{To: to}
	}
	for _, c := range []struct {
		action session.Action
		want   next
	}{
		{session.Wait{Until: at, Why: "all is well"}, next{Action: "wait", Until: at, Reason: "all is well"}},
		{session.ReadEntry{}, next{Action: "read the queue entry", Reason: "the decision rests on a fresh one"}},
		{session.ReadTasks{}, next{Action: "read the tasks", Reason: "the decision rests on fresh ones"}},
		{session.Reserve{Probe: "spot"}, next{Action: "reserve", State: "reserved", Reason: "the session waits, and probes the capacity choice spot, whose breaker was open"}},
		{session.Claim{Encrypt: true}, next{Action: "claim", Reason: "a connect token is wanted for the next launch"}},
		{session.Claim{}, next{Action: "renew the claim", Reason: "less than half of its life is left, or the queue no longer shows it as ours"}},
		{session.RunTask{}, next{Action: "run the task", Until: at, Reason: "the attempt has no task yet"}},
		{session.StopTask{Why: "the session sleeps"}, next{Action: "stop the task", Reason: "the session sleeps"}},
		{session.Release{}, next{Action: "release the claim", Reason: "no task lives, and the outcome is known"}},
		{session.End{To: session.Lease{State: session.Ended, Outcome: session.Lost, Reason: "stolen"}}, next{Action: "end", State: "ended", Outcome: "lost", Reason: "stolen"}},
		{save(func(to *session.Lease) { to.Doubt = session.Doubt{Kind: session.SeemsSuspended, Reads: 1} }),
			next{Action: "write the lease", State: "launching", Reason: "the session seems suspended, read 1 of those needed"}},
		{save(func(to *session.Lease) { to.Attempt, to.Capacity = 2, "spot" }), next{Action: "write the lease", State: "launching", Reason: "attempt 2 is launched in spot"}},
		{save(func(to *session.Lease) { to.State = session.Running }), next{Action: "write the lease", State: "running", Reason: "the task runs"}},
		{save(func(to *session.Lease) { to.TaskARN = "arn" }), next{Action: "write the lease", State: "launching", Reason: "the attempt's task was found"}},
		{save(func(to *session.Lease) { to.ConnectedAt = at }), next{Action: "write the lease", State: "launching", Reason: "the worker serves the session"}},
		{save(func(to *session.Lease) {
			to.State, to.Outcome, to.Reason = session.Stopping, session.Drained, "the outpost is draining"
		}),
			next{Action: "write the lease", State: "stopping", Outcome: "drained", Reason: "the outpost is draining"}},
	} {
		if diff := cmp.Diff(c.want, describe(session.View{Now: at, Lease: l}, c.action)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.action, diff)
		}
	}
}

func TestStopEndsTheTaskAndTheSessionGetsAnother(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	first := b.await("devin-1", session.Running)
	r := b.ctl("stop", "devin-1", "--reason", "it hangs")
	r.succeeds(t)
	want := "told to stop: " + first.TaskARN + "\nThe session keeps its slot: it gets another worker, unless it is over, sleeps, or its outpost drains.\n"
	if diff := cmp.Diff(want, r.out); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for {
		if l := b.await("devin-1", session.Running); l.Attempt == 2 {
			if l.Failures != 0 {
				t.Errorf("a stop by hand counts as a failure: %+v", l)
			}
			break
		}
	}
	for _, task := range b.ECS.Tasks() {
		if task.ARN == first.TaskARN && task.Reason != "outposts: stopped by hand: it hangs" {
			t.Errorf("reason %q", task.Reason)
		}
	}
}

func TestStopOfASessionWithoutATaskSaysSo(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.ctl("stop", "devin-1", "--reason", "x").fails(t, "session devin-1 has no task that lives; `outpostctl session devin-1` tells what is known of it")
}

func TestStopThatECSRefusesIsAnError(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	l := b.await("devin-1", session.Running)
	b.refuseStops()
	b.ctl("stop", "devin-1", "--reason", "x").fails(t, "stop task "+l.TaskARN+": ")
}
