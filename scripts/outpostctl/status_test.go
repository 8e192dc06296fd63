package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func TestStatusShowsOutpostsAndTheSessionsThatHoldSlots(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	ids := b.enqueue(2)
	for _, id := range ids {
		b.await(id, session.Running)
	}
	b.settle()
	if err := b.Store.Trip(b.ctx, laptop.Outpost, "spot", lease.Breaker{Until: time.Now().Add(20 * time.Minute), Trips: 2, Reason: "image not found"}); err != nil {
		t.Fatal(err)
	}
	r := b.ctl("status")
	r.succeeds(t)
	want := `OUTPOST SLOTS TAKES LAST POLL OLDEST WAITS BREAKERS
outpost_env-demo 2/3 yes # ago - spot open (probed in #): image not found

SESSION STATE ATTEMPT AGE CLAIM ENDS TASK REASON
devin-1 running 1 # in # # -
devin-2 running 1 # in # # -
`
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	var got status
	b.json(&got, "status")
	wantStatus := status{
		Outposts: []outpostRow{{OutpostID: laptop.Outpost, Configured: true, SlotsUsed: 2, MaxSessions: 3, Breakers: []breakerRow{{Capacity: "spot", Trips: 2, Reason: "image not found"}}}},
		Leases: []leaseRow{
			{SessionID: "devin-1", OutpostID: laptop.Outpost, State: "running", Attempt: 1, Capacity: "fargate-spot", GatewayURL: b.Fleet.GatewayURL()},
			{SessionID: "devin-2", OutpostID: laptop.Outpost, State: "running", Attempt: 1, Capacity: "fargate-spot", GatewayURL: b.Fleet.GatewayURL()}}}
	if diff := cmp.Diff(wantStatus, got, cmpopts.IgnoreTypes(time.Time{}), cmpopts.IgnoreFields(leaseRow{}, "TaskARN", "Epoch", "Rev")); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if got.Leases[0].ClaimUntil.Before(time.Now()) || !strings.HasPrefix(got.Leases[0].TaskARN, "arn:aws:ecs:") || got.Outposts[0].LastPoll.IsZero() {
		t.Errorf("claim until, task and last poll are to be told: %+v", got)
	}
}

func TestHistoryShowsWhatEndedAndHow(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(2)
	b.await("devin-1", session.Running)
	b.terminate("devin-1")
	b.await("devin-1", session.Ended)
	b.await("devin-2", session.Running)
	b.settle()
	r := b.ctl("status", "--history")
	r.succeeds(t)
	want := `OUTPOST SLOTS TAKES LAST POLL OLDEST WAITS BREAKERS
outpost_env-demo 1/3 yes # ago - -

SESSION STATE ATTEMPT AGE CLAIM ENDS TASK REASON
devin-2 running 1 # in # # -

ENDED SESSION OUTCOME ENDED LASTED ATTEMPTS NOT BEFORE REASON
devin-1 completed # ago # 1 - the session is over
`
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestStatusShowsThatTheFleetWantsToBeLeftAlone(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.must(b.Store.Quiet(b.ctx, laptop.Outpost, time.Now().Add(10*time.Minute)))
	r := b.ctl("status")
	r.succeeds(t)
	want := `OUTPOST SLOTS TAKES LAST POLL OLDEST WAITS BREAKERS
outpost_env-demo 0/3 no: Devin's API wants to be left alone for # - - -

No session holds a slot.
`
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestStatusShowsAnOutpostThatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	if err := b.Store.Note(b.ctx, "outpost_env-old"); err != nil {
		t.Fatal(err)
	}
	r := b.ctl("status", "--outpost", "outpost_env-old")
	r.succeeds(t)
	want := `OUTPOST SLOTS TAKES LAST POLL OLDEST WAITS BREAKERS
outpost_env-old 0/0 no: left the configuration - - -

No session holds a slot.
`
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	b.ctl("status", "--outpost", "outpost_env-x").fails(t, `outpost "outpost_env-x" is not configured here and was never seen: give one of outpost_env-demo, outpost_env-old`)
}
