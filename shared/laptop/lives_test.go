package laptop_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
	"github.com/google/go-cmp/cmp"
)

// bench is one laptop worked by hand, with a clock that can be set forward.
type bench struct {
	*laptop.Laptop
	t       *testing.T
	clock   *laptop.Clock
	workers *laptop.Workers
	logs    *buffer
}

func newBench(t *testing.T, change func(*laptop.Options)) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{t: t, clock: &laptop.Clock{Base: time.Now}, workers: &laptop.Workers{}, logs: &buffer{}}
	o := laptop.Options{Now: b.clock.Now, Stub: b.workers.Run, Starting: 10 * time.Millisecond, Logs: b.logs}
	if change != nil {
		change(&o)
	}
	l, err := laptop.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	b.Laptop = l
	return b
}

// ended is what a life must leave behind: an outcome, and nothing else.
type left struct {
	State      session.State
	Outcome    session.Outcome
	Slots      int
	Alive      int
	Phase      string
	Ciphertext string
}

func (b *bench) left(id string) left {
	b.t.Helper()
	l := b.Lease(b.t.Context(), id)
	out := left{State: l.State, Outcome: l.Outcome, Phase: b.Fleet.Session(id).Phase, Ciphertext: l.Ciphertext}
	c, err := b.Store.Counter(b.t.Context(), laptop.Outpost)
	if err != nil {
		b.t.Fatal(err)
	}
	out.Slots = c.SlotsUsed
	for _, t := range b.ECS.Tasks() {
		if t.Status != "STOPPED" {
			out.Alive++
		}
	}
	return out
}

func (b *bench) expect(id string, want left) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.left(id)); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s\n%s", id, diff, b.logs)
	}
}

func gone(o session.Outcome) left {
	return left{State: session.Ended, Outcome: o, Phase: "pending"}
}

func (b *bench) enqueue(ids ...string) {
	for _, id := range ids {
		b.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%v\n%s", err, b.logs)
	}
}

// serve launches a session and lets the service call it running; observe hears that the task runs.
func (b *bench) serve(id string) ecstest.Task {
	b.t.Helper()
	task, err := b.Launch(b.t.Context(), id)
	b.must(err)
	b.must(b.Fleet.SetStatus(id, "running"))
	b.must(b.Hear(b.t.Context(), task.ARN, "RUNNING"))
	return task
}

// stopped waits for a task's end.
func (b *bench) stopped(task ecstest.Task) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	_, err := b.ECS.Await(ctx, task.ARN, "STOPPED")
	b.must(err)
}

// claimAsUs makes our claim on a session without anybody's writing of it.
func (b *bench) claimAsUs(id string) {
	b.t.Helper()
	token := func(context.Context, outposts.Secret) (outposts.Secret, error) {
		return outposts.Secret(b.Fleet.Token()), nil
	}
	_, err := outposts.New(outposts.Options{BaseURL: b.Fleet.URL(), Token: token, Now: b.clock.Now}).Claim(b.t.Context(), id, laptop.AcceptorID)
	b.must(err)
}

// sweeps sweeps n times, so far apart.
func (b *bench) sweeps(n int, apart time.Duration) {
	b.t.Helper()
	for range n {
		b.must(b.Sweep(b.t.Context()))
		b.clock.Forward(apart)
	}
}

func TestSessionThatIsOverLeavesNothingBehind(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	b.must(b.Fleet.SetStatus("devin-1", "terminated"))
	b.workers.Exit("devin-1", 0)
	b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	b.expect("devin-1", gone(session.Completed))
}

func TestSleepingSessionIsGivenBackNotTakenAgainAndTakenWhenResumed(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	b.must(b.Fleet.SetStatus("devin-1", "suspended"))
	b.workers.Exit("devin-1", 0)
	b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	b.expect("devin-1", gone(session.Suspended))
	b.must(b.Poll(t.Context()))
	if offers, err := b.Offered(t.Context()); len(offers) != 0 || err != nil {
		t.Fatalf("a sleeping leftover was offered: %v %v", offers, err)
	}
	b.must(b.Fleet.Resume("devin-1"))
	b.serve("devin-1")
	if l := b.Lease(t.Context(), "devin-1"); l.State != session.Running || l.Attempt != 2 {
		t.Errorf("after the resume: %s, attempt %d; want running, attempt 2", l.State, l.Attempt)
	}
}

func TestDeadWorkerIsReplacedAtOnceWhenItsEventComes(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	first := b.serve("devin-1")
	b.must(b.ECS.Kill(first.ARN, ecstest.OutOfMemory))
	b.must(b.Hear(t.Context(), first.ARN, "STOPPED"))
	second, _ := b.Task("devin-1")
	l := b.Lease(t.Context(), "devin-1")
	if second.ARN == first.ARN || l.Attempt != 2 || l.Failures != 1 || l.TaskARN != second.ARN {
		t.Errorf("got attempt %d, %d failures, task %s; want a second attempt", l.Attempt, l.Failures, l.TaskARN)
	}
}

func TestDeadWorkerIsReplacedBySweepAloneWhenNoEventComes(t *testing.T) {
	b := newBench(t, nil)
	b.ECS.Deliver(func(ecstest.Event) ecstest.Delivery { return ecstest.Never })
	b.enqueue("devin-1")
	first, err := b.Launch(t.Context(), "devin-1")
	b.must(err)
	b.must(b.Fleet.SetStatus("devin-1", "running"))
	b.sweeps(1, time.Minute)
	b.must(b.ECS.Kill(first.ARN, ecstest.Crash))
	b.stopped(first)
	b.sweeps(1, time.Minute)
	second, _ := b.Task("devin-1")
	if l := b.Lease(t.Context(), "devin-1"); second.ARN == first.ARN || l.Attempt != 2 || l.TaskARN != second.ARN {
		t.Errorf("got attempt %d and task %s; want a second attempt", l.Attempt, l.TaskARN)
	}
}

func TestSessionThatAlwaysFailsIsGivenBackAndLeftAloneForAWhile(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-bad")
	b.ECS.FailStart(99, "TaskFailedToStart: CannotPullContainerError: image not found", "")
	b.must(b.Poll(t.Context()))
	_, err := b.Deliver(t.Context())
	b.must(err)
	for range 3 {
		task, _ := b.Task("devin-bad")
		b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	}
	b.expect("devin-bad", gone(session.GaveUp))
	if n := b.ECS.Calls()["RunTask"]; n != 3 {
		t.Errorf("launched %d times, want 3", n)
	}
	b.must(b.Poll(t.Context()))
	if offers, _ := b.Offered(t.Context()); len(offers) != 0 {
		t.Error("a session that was given up was offered at once")
	}
	b.clock.Forward(61 * time.Second)
	b.must(b.Poll(t.Context()))
	if offers, _ := b.Offered(t.Context()); len(offers) != 1 {
		t.Error("a session that was given up was not offered after its time")
	}
}

func TestBadImageOpensTheBreakerForOtherSessions(t *testing.T) {
	b := newBench(t, func(o *laptop.Options) {
		o.Configure = func(outpost map[string]any) { outpost["capacity"] = outpost["capacity"].([]any)[1:] }
	})
	b.enqueue("devin-bad")
	b.ECS.FailStart(1, "TaskFailedToStart: CannotPullContainerError: image not found", "")
	b.must(b.Poll(t.Context()))
	_, err := b.Deliver(t.Context())
	b.must(err)
	task, _ := b.Task("devin-bad")
	b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	h, err := b.Store.Health(t.Context(), laptop.Outpost)
	b.must(err)
	if h.Breakers["fargate"].Trips != 1 {
		t.Fatalf("breakers are %v, want fargate's open", h.Breakers)
	}
	b.enqueue("devin-other")
	b.must(b.Poll(t.Context()))
	_, err = b.Deliver(t.Context())
	b.must(err)
	if l := b.Lease(t.Context(), "devin-other"); l.State != session.None {
		t.Errorf("another session was taken while the breaker is open: %s", l.State)
	}
}

func TestFullOutpostTakesNoMoreThanItsSlots(t *testing.T) {
	b := newBench(t, func(o *laptop.Options) { o.MaxSessions = 2 })
	for i := range 5 {
		b.enqueue(fmt.Sprintf("devin-%d", i))
	}
	for range 3 {
		b.must(b.Poll(t.Context()))
		for n := 1; n > 0; {
			var err error
			n, err = b.Deliver(t.Context())
			b.must(err)
		}
	}
	claimed := 0
	for _, s := range b.Fleet.Sessions() {
		if s.Phase == "claimed" {
			claimed++
		}
	}
	if got := b.left("devin-0"); got.Slots != 2 || got.Alive != 2 || claimed != 2 {
		t.Errorf("%d slots, %d tasks, %d claims; want 2 of each", got.Slots, got.Alive, claimed)
	}
}

func TestLostClaimLeavesNoSlotNoTaskAndNoActiveLease(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpClaim, Kind: outpoststest.FaultSteal, Times: 1})
	b.must(b.Poll(t.Context()))
	_, err := b.Deliver(t.Context())
	b.must(err)
	b.expect("devin-1", left{State: session.Ended, Outcome: session.Lost, Phase: "claimed"})
}

func TestOneReadOfSuspendedStopsNothingAndThreeApartDo(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	b.sweeps(1, time.Minute)
	b.must(b.Fleet.SetStatus("devin-1", "suspended"))
	for range 5 { // of one moment: they count once
		b.must(b.Sweep(t.Context()))
	}
	b.must(b.Fleet.SetStatus("devin-1", "running"))
	b.sweeps(1, 16*time.Second)
	b.must(b.Fleet.SetStatus("devin-1", "suspended"))
	b.sweeps(2, 16*time.Second)
	if n := b.ECS.Calls()["StopTask"]; n != 0 {
		t.Fatalf("stopped after two reads in a row")
	}
	b.sweeps(1, 16*time.Second)
	b.stopped(task)
	b.sweeps(1, 16*time.Second)
	b.expect("devin-1", gone(session.Suspended))
}

func TestVanishedSessionIsStoppedAfterTwoReadsAndNotAfterAnEmptyList(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1", "devin-2")
	b.serve("devin-1")
	task, _ := b.Task("devin-2")
	_, err := b.ECS.Await(t.Context(), task.ARN, "RUNNING")
	b.must(err)
	b.must(b.Fleet.SetStatus("devin-2", "running"))
	b.sweeps(1, time.Minute)
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultStatus, Status: 500, Times: 1})
	b.must(b.Sweep(t.Context()))
	b.must(b.Fleet.Vanish("devin-2"))
	b.sweeps(1, 31*time.Second)
	if n := b.ECS.Calls()["StopTask"]; n != 0 {
		t.Fatalf("stopped after one read")
	}
	b.sweeps(1, 31*time.Second)
	b.stopped(task)
	b.sweeps(1, time.Minute)
	if l := b.Lease(t.Context(), "devin-2"); l.Outcome != session.Lost || l.State != session.Ended {
		t.Errorf("got %s %s, want ended lost", l.State, l.Outcome)
	}
	if l := b.Lease(t.Context(), "devin-1"); l.State != session.Running {
		t.Errorf("the other session is %s, want running", l.State)
	}
}

func TestClaimIsRenewedWhileTheTaskLivesAndNotWhenItIsDead(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	b.serve("devin-1")
	b.sweeps(2, 80*time.Second)
	if n := b.Fleet.Session("devin-1").Renewals; n != 0 {
		t.Errorf("renewed %d times while more than half was left", n)
	}
	b.sweeps(1, 0)
	if n := b.Fleet.Session("devin-1").Renewals; n != 1 {
		t.Errorf("renewed %d times below half, want once", n)
	}
}

func TestOrphanTaskIsStoppedWhenTwoSweepsAMinuteApartSawIt(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	l := b.Lease(t.Context(), "devin-1")
	l.State, l.Outcome, l.Ciphertext, l.Rev, l.ExpiresAt = session.Ended, session.Lost, "", l.Rev+1, b.clock.Now().Add(time.Hour)
	b.must(b.Store.End(t.Context(), l)) // as if everything about it had gone wrong
	b.must(b.Fleet.SetStatus("devin-1", "terminated"))
	b.sweeps(1, 30*time.Second)
	b.sweeps(1, 31*time.Second)
	if n := b.ECS.Calls()["StopTask"]; n != 0 {
		t.Fatal("stopped within a minute of its first sight")
	}
	b.sweeps(1, time.Minute)
	b.stopped(task)
	b.sweeps(3, 61*time.Second)
	b.expect("devin-1", left{State: session.Ended, Outcome: session.Lost, Phase: "pending"})
}

func TestClaimThatNoLeaseNamesIsReleasedWhenTwoSweepsAMinuteApartSawIt(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	b.claimAsUs("devin-1")
	b.must(b.Fleet.SetStatus("devin-1", "running")) // so that it does not run out by itself
	b.sweeps(1, 30*time.Second)
	b.sweeps(1, 31*time.Second)
	if s := b.Fleet.Session("devin-1"); s.Releases != 0 {
		t.Fatal("released within a minute of its first sight")
	}
	b.sweeps(1, time.Minute)
	if s := b.Fleet.Session("devin-1"); s.Releases != 1 {
		t.Errorf("released %d times after it was seen twice, want once", s.Releases)
	}
}

func TestWrongSlotCounterIsCorrectedByTheThirdSweepInARow(t *testing.T) {
	b := newBench(t, nil)
	b.must(b.Store.CorrectSlots(t.Context(), laptop.Outpost, 0, 3))
	b.sweeps(2, 57*time.Second)
	if c, _ := b.Store.Counter(t.Context(), laptop.Outpost); c.SlotsUsed != 3 {
		t.Fatal("corrected too early: the index may lag")
	}
	b.sweeps(1, 0)
	if c, _ := b.Store.Counter(t.Context(), laptop.Outpost); c != (lease.Counter{}) {
		t.Errorf("counter is %+v, want 0 slots", c)
	}
}

func TestSweepStandsInForADeadPollAndADeadClaim(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	b.clock.Forward(4 * time.Minute)
	b.sweeps(1, 0)
	if l := b.Lease(t.Context(), "devin-1"); l.State != session.Launching {
		t.Errorf("a session that waited four minutes is %q after a sweep, want launching", l.State)
	}
}

func TestSlotThatComesFreeIsTakenAtOnceByWhoIsOverdueBesideAnother(t *testing.T) {
	for name, c := range map[string]struct {
		slots int
		want  session.State
	}{
		"when no other slot is free the session is only offered":     {1, session.None},
		"when another slot is free offers go unanswered, so it runs": {2, session.Launching},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *laptop.Options) { o.MaxSessions = c.slots })
			b.enqueue("devin-1")
			task := b.serve("devin-1")
			b.enqueue("devin-2")
			b.clock.Forward(2*time.Minute + 50*time.Second) // of five: the first claim still holds
			b.must(b.Fleet.SetStatus("devin-1", "terminated"))
			b.workers.Exit("devin-1", 0)
			b.stopped(task)
			b.clock.Forward(15 * time.Second)
			b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
			if l := b.Lease(t.Context(), "devin-2"); l.State != c.want {
				t.Errorf("devin-2 is %q, want %q\n%s", l.State, c.want, b.logs)
			}
			offers, err := b.Offered(t.Context())
			b.must(err)
			if len(offers) != 1 || offers[0].SessionID != "devin-2" {
				t.Errorf("offered: %v", offers)
			}
		})
	}
}

func TestOutpostThatDrainsTakesNothingAndLetsSessionsEnd(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	task := b.serve("devin-1")
	b.must(b.Store.SetDraining(t.Context(), laptop.Outpost, true))
	b.enqueue("devin-2")
	b.must(b.Poll(t.Context()))
	_, err := b.Deliver(t.Context())
	b.must(err)
	if l := b.Lease(t.Context(), "devin-2"); l.State != session.None {
		t.Errorf("a draining outpost took a session: %s", l.State)
	}
	b.must(b.ECS.Kill(task.ARN, ecstest.Crash))
	b.must(b.Hear(t.Context(), task.ARN, "STOPPED"))
	b.expect("devin-1", gone(session.Drained))
}

func TestMessageComesBackWhileTheFleetIsDownAndIsDoneWhenItIsNoOffer(t *testing.T) {
	b := newBench(t, nil)
	b.enqueue("devin-1")
	b.must(b.Poll(t.Context()))
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpGet, Kind: outpoststest.FaultStatus, Status: 503, Times: 1000})
	b.must(b.Put(t.Context(), "no offer"))
	batch := `{"Records":[{"messageId":"a","body":"{\"version\":1,\"outpost_id\":\"` + laptop.Outpost + `\",\"session_id\":\"devin-1\",\"offered_at\":\"2026-11-30T12:00:00Z\"}"},` +
		`{"messageId":"b","body":"no offer"}]}`
	answer, err := b.Invoke(t.Context(), "claim", []byte(batch))
	if want := `{"batchItemFailures":[{"itemIdentifier":"a"}]}`; string(answer) != want || err != nil {
		t.Errorf("claim answered %s, %v; want %s", answer, err, want)
	}
}

func TestWrongTokenIsToldInOneSentenceAndNeverShown(t *testing.T) {
	b := newBench(t, nil)
	b.Fleet.SetToken("cog_another")
	err := b.Poll(t.Context())
	if err == nil || !strings.Contains(err.Error(), "check that it is current and has the scope") {
		t.Errorf("poll answered %v", err)
	}
	if text := b.logs.all(); strings.Contains(text, outpoststest.DefaultToken) || !strings.Contains(text, `"TokenRejected":1`) {
		t.Errorf("logs show the token or lack the metric:\n%s", text)
	}
}

func TestUnknownOutpostAndAFleetThatIsDownAreToldInOneSentence(t *testing.T) {
	b := newBench(t, func(o *laptop.Options) {
		o.Configure = func(outpost map[string]any) { outpost["outpost_id"] = "outpost_env-unknown" }
	})
	if err := b.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "list outpost outpost_env-unknown") || !strings.Contains(err.Error(), "check the API address and the ids") {
		t.Errorf("an unknown outpost: %v", err)
	}
	b.Fleet.Close()
	if err := b.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer from the fleet API") || !strings.Contains(err.Error(), "try again") {
		t.Errorf("a fleet that is down: %v", err)
	}
}

func TestManySessionsGoThroughTheirLivesWithEverythingRunning(t *testing.T) {
	b := newBench(t, func(o *laptop.Options) {
		o.MaxSessions, o.PollEvery, o.SweepEvery = 5, 50*time.Millisecond, 200*time.Millisecond
	})
	ctx, stop := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	loops.Go(func() { b.Run(ctx) })
	defer func() { stop(); loops.Wait() }()
	var lives sync.WaitGroup
	for i := range 30 {
		id := fmt.Sprintf("devin-%d", i)
		b.enqueue(id)
		lives.Go(func() {
			_, err := b.Fleet.Wait(t.Context(), id, func(s outpoststest.Session) bool { return s.Phase == "claimed" })
			b.must(err)
			_ = b.Fleet.SetStatus(id, "terminated")
			b.workers.Exit(id, 0)
		})
	}
	lives.Wait()
	for i := range 30 {
		for b.Lease(t.Context(), fmt.Sprintf("devin-%d", i)).State != session.Ended {
			select {
			case <-t.Context().Done():
				t.Fatal("a session did not end")
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	for i := range 30 {
		b.expect(fmt.Sprintf("devin-%d", i), gone(session.Completed))
	}
}

// buffer collects log lines, and shows the last few of them.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) String() string {
	lines := strings.Split(b.all(), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
