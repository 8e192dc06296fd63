package laptop_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// sent is how many calls the fleet API has been sent.
func (b *bench) sent() int {
	n := 0
	for _, calls := range b.Fleet.Calls() {
		n += calls
	}
	return n
}

// slowDown has the fleet API answer the next call of a kind with 429.
func (b *bench) slowDown(op outpoststest.Op, retryAfter string) {
	b.Fleet.Fault(outpoststest.Fault{Op: op, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: retryAfter, Times: 1})
}

func TestFleetThatAsksPollToSlowDownIsLeftAloneByEveryFunctionUntilThen(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	b.enqueue("devin-2")
	b.must(b.Poll(t.Context())) // which offers devin-2
	b.slowDown(outpoststest.OpList, "600")
	if err := b.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "429") {
		t.Fatalf("poll answered %v", err)
	}
	before := b.sent()

	b.clock.Forward(9 * time.Minute)
	b.must(b.Poll(t.Context()))
	n, err := b.Deliver(t.Context())
	if n == 0 || err != nil {
		t.Fatalf("%d offers, %v", n, err)
	}
	b.must(b.Fleet.SetStatus("devin-1", "terminated"))
	b.workers.Exit("devin-1", 0)
	b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	b.must(b.Sweep(t.Context())) // poll has not listed for three minutes: sweep would stand in
	b.must(b.Faults())
	if n := b.sent() - before; n != 0 {
		t.Errorf("%d calls were sent before the time was over", n)
	}
	if l := b.Lease(t.Context(), "devin-2"); l.State != session.None {
		t.Errorf("the offered session is %s, want it untouched", l.State)
	}
	if n := strings.Count(b.logs.all(), `"PollFailed":1`); n != 1 {
		t.Errorf("PollFailed counted %d times, want once", n)
	}
	if n := strings.Count(b.logs.all(), "fleet API wants to be left alone, not listed"); n != 1 {
		t.Errorf("said %d times that it is not listed, want once", n)
	}
	for _, complaint := range []string{"offer comes back", "claims not listed"} {
		if strings.Contains(b.logs.all(), complaint) {
			t.Errorf("the logs say %q:\n%s", complaint, b.logs)
		}
	}

	b.clock.Forward(61 * time.Second)
	b.must(b.Sweep(t.Context()))
	b.expect("devin-1", gone(session.Completed).with(1, 1)) // the slot and the task are devin-2's, which sweep took since it had waited long
	if l := b.Lease(t.Context(), "devin-2"); l.State != session.Launching {
		t.Errorf("the session that waited is %q, want launching", l.State)
	}
}

// with is what is left beside slots and tasks of others.
func (l left) with(slots, alive int) left {
	l.Slots, l.Alive = slots, alive
	return l
}

func TestClaimThatIsAskedToSlowDownKeepsTheSessionsBesideItFromAsking(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1", "devin-2")
	b.must(b.Poll(t.Context()))
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: "120", Times: 1000})
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus, Status: 429, RetryAfter: "120", Times: 1000})
	for range 2 {
		if n, err := b.Deliver(t.Context()); err != nil {
			t.Fatal(n, err)
		}
	}
	before := b.sent()
	b.must(b.Sweep(t.Context()))
	b.must(b.Poll(t.Context()))
	if n := b.sent() - before; n != 0 {
		t.Errorf("%d calls were sent before the time was over", n)
	}
	h, err := b.Store.Health(t.Context(), laptop.Outpost)
	if rest := h.QuietUntil.Sub(b.clock.Now()); err != nil || rest < 110*time.Second || rest > 121*time.Second {
		t.Errorf("left alone for another %s (%v), want about two minutes", rest, err)
	}
	b.Fleet.ClearFaults()
	b.clock.Forward(3 * time.Minute)
	for _, id := range []string{"devin-1", "devin-2"} {
		if _, err := b.Launch(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func TestLongestTimeToLeaveTheFleetAloneIsAQuarterOfAnHour(t *testing.T) {
	b := newBench(t, nil)
	b.slowDown(outpoststest.OpList, "86400")
	_ = b.Poll(t.Context()) // fails, as it must
	h, err := b.Store.Health(t.Context(), laptop.Outpost)
	if rest := h.QuietUntil.Sub(b.clock.Now()); err != nil || rest < 14*time.Minute || rest > 15*time.Minute {
		t.Errorf("left alone for %s (%v), want a quarter of an hour", rest, err)
	}
}

func TestWatchSleepsWhileTheFleetWantsToBeLeftAloneAndThenGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		op    outpoststest.Op
		every time.Duration
	}{
		"asked by the listing": {outpoststest.OpList, 20 * time.Millisecond},
		"asked by the stream":  {outpoststest.OpWatch, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *laptop.Options) { o.Watch, o.ListEvery = true, test.every })
			b.slowDown(test.op, "2")
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = b.Poll(ctx) }) // ends with the context
			defer func() { stop(); running.Wait() }()
			health := func() time.Time {
				h, err := b.Store.Health(t.Context(), laptop.Outpost)
				b.must(err)
				return h.QuietUntil
			}
			for health().IsZero() {
				pause(t)
			}
			before := b.sent()
			for b.clock.Now().Before(health().Add(-50 * time.Millisecond)) {
				if n := b.sent() - before; n != 0 {
					t.Fatalf("%d calls were sent before the time was over", n)
				}
				pause(t)
			}
			b.enqueue("devin-1")
			for {
				offers, err := b.Offered(t.Context())
				b.must(err)
				if len(offers) > 0 {
					break
				}
				pause(t)
			}
			if n := strings.Count(b.logs.all(), `"PollFailed":1`); n > 1 {
				t.Errorf("PollFailed counted %d times", n)
			}
			if n := strings.Count(b.logs.all(), "stream broken"); n != 0 {
				t.Errorf("said %d times that the stream is broken", n)
			}
			if n := strings.Count(b.logs.all(), "left alone"); n != 1 {
				t.Errorf("%d log lines say that the fleet is left alone, want one:\n%s", n, b.logs)
			}
		})
	}
}

// pause is a moment between two looks, as long as the test has time.
func pause(t *testing.T) {
	t.Helper()
	select {
	case <-t.Context().Done():
		t.Fatal("the test is over")
	case <-time.After(5 * time.Millisecond):
	}
}
