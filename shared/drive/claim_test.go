package drive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

func TestFullOrDrainingOutpostMakesNoClaim(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*world){
		"full":     func(w *world) { w.config.MaxSessions = 0; w.config.MaxFailures = 3 },
		"draining": func(w *world) { must(t, w.store.SetDraining(context.Background(), outpost, true)) },
	} {
		w := newWorld(t)
		w.enqueue()
		o := w.outpost() // read before it was so
		prepare(w)
		res := w.drive(func(j *drive.Job) { j.Outpost = o })
		if !res.Full || res.Err != nil || w.server.Calls()[outpoststest.OpClaim] != 0 || w.lease() != nil {
			t.Errorf("%s: %+v, trail %q", name, res, w.trail)
		}
	}
}

func TestLoserOfAClaimGivesItsSlotBackAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultSteal, Times: 1})
	res := w.drive()
	if !res.Ended || res.Err != nil || res.Lease.Outcome != session.Lost || w.slots() != 0 || len(w.ecs.calls) != 0 {
		t.Errorf("%+v, %d slots, %d launches", res, w.slots(), len(w.ecs.calls))
	}
}

func TestSessionOfAnotherOutpostIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	res := w.drive(func(j *drive.Job) { j.Outpost.ID = "outpost_env-other" })
	if res.Lease != nil || res.Wait.Why != "the session waits in another outpost" {
		t.Errorf("%+v", res)
	}
}

// answering is a fleet whose claims are answered with what is given.
type answering struct {
	fleet
	claim outposts.Claim
}

func (a answering) Claim(context.Context, string, string) (outposts.Claim, error) {
	return a.claim, nil
}

func TestClaimThatCannotBeServedIsReleasedAndSaysWhy(t *testing.T) {
	t.Parallel()
	good := outposts.Claim{Entry: outposts.Entry{SessionID: devin, OutpostID: outpost, Phase: "claimed", AcceptorID: acceptor, Status: "pending"}, ConnectToken: "ct_1",
		GatewayURL: "wss://gateway.example/connect", Life: 5 * time.Minute}
	for want, change := range map[string]func(*outposts.Claim){
		"": func(*outposts.Claim) {},
		"the claim's answer is for another session": func(c *outposts.Claim) { c.SessionID = "devin-2" },
		"the claim's answer names another acceptor": func(c *outposts.Claim) { c.AcceptorID = "somebody" },
		"the claim's answer is for another outpost": func(c *outposts.Claim) { c.OutpostID = "outpost_env-other" },
		"the claim came without a connect token":    func(c *outposts.Claim) { c.ConnectToken = "" },
		"the claim came without a gateway":          func(c *outposts.Claim) { c.GatewayURL = "" },
		"the claim's gateway is no wss:// URL":      func(c *outposts.Claim) { c.GatewayURL = "ws://gateway.example/connect" },
		"the claim's gateway is no wss:// URL    ":  func(c *outposts.Claim) { c.GatewayURL = "ws://192.0.2.1/connect" },
		"the claim's gateway is no wss:// URL ":     func(c *outposts.Claim) { c.GatewayURL = "wss:gateway" },
		"the claim's gateway is no wss:// URL  ":    func(c *outposts.Claim) { c.GatewayURL = "https://gateway.example" },
		"the claim's gateway is no wss:// URL   ":   func(c *outposts.Claim) { c.GatewayURL = "wss://%zz" },
		" loopback":         func(c *outposts.Claim) { c.GatewayURL = "ws://127.0.0.1:8080/connect" },
		" loopback by name": func(c *outposts.Claim) { c.GatewayURL = "ws://localhost:8080/connect" },
		"the connect token is longer than the 4,096": func(c *outposts.Claim) { c.ConnectToken = outposts.Secret(strings.Repeat("x", seal.MaxToken+1)) },
	} {
		w := newWorld(t)
		w.enqueue()
		if _, err := w.outpost().Fleet.Claim(context.Background(), devin, acceptor); err != nil { // as the answer pretends
			t.Fatal(err)
		}
		must(t, w.outpost().Fleet.Release(context.Background(), devin, acceptor))
		claim := good
		change(&claim)
		res := w.drive(func(j *drive.Job) { j.Outpost.Fleet = answering{j.Outpost.Fleet.(fleet), claim} })
		if want == "" || strings.HasPrefix(want, " ") {
			if res.Lease.State != session.Launching {
				t.Errorf("%q: %+v", want, res)
			}
			continue
		}
		want = strings.TrimSpace(want)
		if l := res.Lease; !res.Ended || l.Outcome != session.Refused || !strings.HasPrefix(l.Reason, want) || l.NotBefore.Sub(w.now) != time.Minute || w.slots() != 0 || len(w.ecs.calls) != 0 {
			t.Errorf("%q: %+v", want, l)
		}
	}
}

func TestSessionUnderANetworkPolicyThatOnlyTheClaimTellsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Enqueue(outpoststest.EnqueueOptions{SessionID: devin, NetworkPolicy: []byte(`{"enabled":true,"allow":[]}`)})
	waiting := session.Entry{Reading: session.Present, At: t0, SessionID: devin, OutpostID: outpost, Phase: "pending", Status: "pending"}
	res := w.drive(func(j *drive.Job) { j.Entry = waiting })
	if !res.Ended || res.Lease.Outcome != session.Refused || w.server.Session(devin).Phase != "pending" {
		t.Errorf("%+v", res.Lease)
	}
}

func TestUnreadableAnswerToAClaimIsReleasedSinceItMayBeOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultMalformed, Times: 1})
	res := w.drive()
	if s := w.server.Session(devin); !res.Ended || res.Lease.Outcome != session.Refused || s.Phase != "pending" || s.Releases != 1 {
		t.Errorf("%+v, %+v", res.Lease, s)
	}
}

func TestUnreadableAnswerToARenewalLeavesTheWorkerAloneAndIsNotAskedForAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.move("task-1", "RUNNING")
	w.pass(4 * time.Minute)
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultMalformed})
	before := w.server.Calls()[outpoststest.OpClaim]
	res := w.drive()
	if n := w.server.Calls()[outpoststest.OpClaim] - before; res.Lease.State != session.Running || n != 1 || len(w.ecs.stops) != 0 {
		t.Errorf("%d calls, %+v", n, res)
	}
}

func TestRelaunchWhoseClaimCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultMalformed})
	w.pass(time.Minute)
	res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "20"), w.Now()) })
	if !res.Ended || res.Lease.Outcome != session.Refused || len(w.ecs.calls) != 1 {
		t.Errorf("%+v, trail %q", res, w.trail)
	}
}

// brief answers claims that last a moment only.
type brief struct{ fleet }

func (b brief) Claim(ctx context.Context, id, acceptorID string) (outposts.Claim, error) {
	c, err := b.fleet.Claim(ctx, id, acceptorID)
	c.Life, c.Phase = time.Nanosecond, "pending" // as a row that is a step behind says
	return c, err
}

func TestAbsurdlyShortClaimIsNotRenewedInCircles(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.move("task-1", "RUNNING")
	w.pass(4 * time.Minute)
	before := w.server.Calls()[outpoststest.OpClaim]
	res := w.drive(func(j *drive.Job) { j.Outpost.Fleet = brief{j.Outpost.Fleet.(fleet)} })
	if n := w.server.Calls()[outpoststest.OpClaim] - before; n != 1 || res.Err != nil || res.Lease.State != session.Running {
		t.Errorf("%d calls, %+v", n, res)
	}
}

func TestClaimThatGetsNoAnswerIsMadeAgainLaterWithJitter(t *testing.T) {
	t.Parallel()
	for _, kind := range []outpoststest.FaultKind{outpoststest.FaultStatus, outpoststest.FaultHangUp, outpoststest.FaultDrop} {
		w := newWorld(t)
		w.enqueue()
		w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: kind, Times: 1})
		res := w.drive()
		if res.Err == nil || res.Lease.State != session.Reserved || !res.Wait.Until.Equal(t0.Add(2*time.Second)) {
			t.Errorf("%s: %+v", kind, res)
		}
		w.pass(2 * time.Second)
		if res = w.drive(); res.Err != nil || res.Lease.State != session.Launching || w.slots() != 1 {
			t.Errorf("%s, again: %+v", kind, res)
		}
	}
}

func TestServiceThatAsksToSlowDownIsLeftAloneForAsLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: "7", Times: 1})
	res := w.drive(patience(5 * time.Second))
	if want := t0.Add(8 * time.Second); !res.Wait.Until.Equal(want) || res.Err == nil { // and half of the jitter
		t.Errorf("until %v, want %v: %+v", res.Wait.Until, want, res)
	}
	w = newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: "7", Times: 1})
	if res = w.drive(patience(10 * time.Second)); res.Err != nil || res.Lease.State != session.Launching || w.Now().Sub(t0) != 8*time.Second {
		t.Errorf("with patience: %+v", res)
	}
}

func TestServiceThatDoesNotSayHowLongIsLeftAloneForAMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 429, Times: 1})
	if res := w.drive(); !res.Wait.Until.Equal(t0.Add(2 * time.Second)) {
		t.Errorf("%+v", res)
	}
}

func TestEntryIsReadAnewAfterARenewalThatWasRefused(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.move("task-1", "RUNNING")
	w.drive()
	w.pass(4 * time.Minute)
	w.trail = nil
	w.before = func(call string) error {
		if call == "claim" {
			must(t, w.server.Steal(devin, "another"))
		}
		return nil
	}
	res := w.drive()
	want := []string{"read tasks → task-1 RUNNING, no more", "read entry → claimed pending", "claim → not ours", "save rev 6: doubt: renewal_lost, read 1", "read entry → claimed pending", "save rev 7: doubt: stolen, read 1"}
	if diff := cmp.Diff(want, w.trail); diff != "" || len(w.ecs.stops) != 0 {
		t.Errorf("%+v (-want +got):\n%s", res, diff)
	}
}

func TestRefusedTokenIsCountedAndMakesASlowBeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	o := w.outpost()
	waiting := session.Entry{Reading: session.Present, At: t0, SessionID: devin, OutpostID: outpost, Phase: "pending", Status: "pending"}
	w.server.SetToken("cog_another")
	res := w.drive(func(j *drive.Job) { j.Outpost, j.Entry = o, waiting })
	if !errors.Is(res.Err, outposts.ErrUnauthorized) || res.Wait.Until.Sub(t0) != time.Minute {
		t.Errorf("%+v", res)
	}
	if diff := cmp.Diff([]string{"TokenRejected 1"}, w.counted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailedReadOfTheEntryIsNoEvidence(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.move("task-1", "RUNNING")
	w.drive()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus, Status: 500})
	for range 5 {
		w.pass(time.Minute)
		if res := w.drive(); res.Lease.State != session.Running || res.Lease.Doubt.Kind != session.NoDoubt || res.Err == nil {
			t.Fatalf("%+v", res)
		}
	}
	if len(w.ecs.stops) != 0 || !w.lease().ClaimUntil.After(w.now) {
		t.Errorf("stops %v, claim until %v", w.ecs.stops, w.lease().ClaimUntil)
	}
}

func TestReleaseThatGetsNoAnswerIsRepeatedBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	w := launched(t)
	must(t, w.server.Terminate(devin))
	w.before = failing("release", 1, errBroken)
	w.pass(time.Minute)
	res := w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "0"), w.Now()) })
	if res.Ended || res.Lease.State != session.Stopping || res.Lease.Outcome != session.Completed || !errors.Is(res.Err, errBroken) {
		t.Errorf("%+v", res)
	}
	if res = w.drive(); !res.Ended || w.slots() != 0 {
		t.Errorf("again: %+v", res)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counted are the metrics so far, in order.
func (w *world) counted() (list []string) {
	for line := range strings.Lines(w.metrics.String()) {
		name, value := metric(w.t, line)
		list = append(list, fmt.Sprintf("%s %v", name, value))
	}
	return list
}

func TestSessionThatTheServiceWillNotGiveOrTakeBackHoldsItsSlotForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 422})
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpRelease, Kind: outpoststest.FaultStatus, Status: 422})
	res := w.drive()
	if l := res.Lease; !res.Ended || l.Outcome != session.Refused || !strings.Contains(l.Reason, "refused the request (422") || w.slots() != 0 {
		t.Errorf("%+v", res)
	}
}

func TestRedirectionIsNoAnswerOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 302, Times: 1})
	if res := w.drive(); res.Err == nil || res.Lease.State != session.Reserved {
		t.Errorf("%+v", res)
	}
}

func TestRefusedRenewalLeavesTheWorkerAlone(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.ecs.move("task-1", "RUNNING")
	w.pass(4 * time.Minute)
	w.server.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 422})
	if res := w.drive(); res.Err == nil || res.Lease.State != session.Running || len(w.ecs.stops) != 0 {
		t.Errorf("%+v", res)
	}
}
