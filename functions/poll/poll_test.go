package poll_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/google/go-cmp/cmp"
)

// start makes a laptop whose sessions are looked at by hand.
func start(t *testing.T, change func(*laptop.Options)) *laptop.Laptop {
	t.Helper()
	t.Parallel()
	o := laptop.Options{Now: time.Now, Stub: (&laptop.Workers{}).Run, MaxSessions: 2}
	if change != nil {
		change(&o)
	}
	l, err := laptop.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func enqueue(l *laptop.Laptop, ids ...string) {
	for _, id := range ids {
		l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: id})
	}
}

// offered takes the offers off the queue and answers their sessions, sorted: SQS keeps no order.
func offered(t *testing.T, l *laptop.Laptop) []string {
	t.Helper()
	list, err := l.Offered(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, o := range list {
		ids = append(ids, o.SessionID)
	}
	slices.Sort(ids)
	return ids
}

func poll(t *testing.T, l *laptop.Laptop) {
	t.Helper()
	if err := l.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWaitingSessionsAreOfferedUpToTheFreeSlots(t *testing.T) {
	l := start(t, nil)
	enqueue(l, "devin-1", "devin-2", "devin-3")
	poll(t, l)
	if got := offered(t, l); len(got) != 2 {
		t.Errorf("offered %v, want two of the three", got)
	}
}

func TestHeldSessionIsNotOffered(t *testing.T) {
	l := start(t, nil)
	enqueue(l, "devin-1", "devin-2")
	held := session.Lease{Schema: session.SchemaVersion, SessionID: "devin-1", OutpostID: laptop.Outpost, State: session.Reserved, Epoch: "e", Rev: 1}
	if err := l.Store.Reserve(t.Context(), held, 2); err != nil {
		t.Fatal(err)
	}
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-2"}, offered(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestSessionThatWasGivenBackStandsBehindThoseWhoWaitedMeanwhile(t *testing.T) {
	l := start(t, func(o *laptop.Options) { o.MaxSessions = 1 })
	enqueue(l, "devin-1", "devin-2")
	tried := session.Lease{Schema: session.SchemaVersion, SessionID: "devin-1", OutpostID: laptop.Outpost, State: session.Reserved, Epoch: "e", Rev: 1}
	if err := l.Store.Reserve(t.Context(), tried, 1); err != nil {
		t.Fatal(err)
	}
	tried.State, tried.Outcome, tried.Rev, tried.EndedAt = session.Ended, session.GaveUp, 2, time.Now().Add(time.Second)
	if err := l.Store.End(t.Context(), tried); err != nil {
		t.Fatal(err)
	}
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-2"}, offered(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestSessionsThatCannotBeServedHereAreNotOffered(t *testing.T) {
	l := start(t, nil)
	l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-mac", Platform: "macos"})
	l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-fenced", NetworkPolicy: []byte(`{"enabled":true,"allow":[]}`)})
	l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-open", NetworkPolicy: []byte(`{"enabled":false}`)})
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-open"}, offered(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkPolicyIsIgnoredWhereTheOutpostSaysSo(t *testing.T) {
	l := start(t, func(o *laptop.Options) {
		o.Configure = func(outpost map[string]any) { outpost["network_policy"] = "ignore" }
	})
	l.Fleet.Enqueue(outpoststest.EnqueueOptions{SessionID: "devin-fenced", NetworkPolicy: []byte(`{"enabled":true,"allow":[]}`)})
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-fenced"}, offered(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedEntriesKeepNoOtherBack(t *testing.T) {
	l := start(t, nil)
	enqueue(l, "devin-1")
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultMalformed, Times: 1})
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-1"}, offered(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedListingIsToldAndOffersNothing(t *testing.T) {
	l := start(t, nil)
	enqueue(l, "devin-1")
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultStatus, Status: 500, Times: 1})
	if err := l.Poll(t.Context()); err == nil {
		t.Error("poll succeeded although its listing failed")
	}
	if got := offered(t, l); len(got) != 0 {
		t.Errorf("offered %v", got)
	}
	poll(t, l)
	if diff := cmp.Diff([]string{"devin-1"}, offered(t, l)); diff != "" {
		t.Error("the next listing:", diff)
	}
}

// watching runs poll in the background, by watch, until the test has what it wants.
func watching(t *testing.T, l *laptop.Laptop) (next func() events.Offer) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Poll(ctx) }) // ends with the context
	t.Cleanup(func() { stop(); running.Wait() })
	return func() events.Offer {
		t.Helper()
		for {
			list, err := l.Offered(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				return list[0]
			}
			select {
			case <-t.Context().Done():
				t.Fatal("nothing was offered")
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

func TestSessionQueuedDuringAWatchIsOfferedFromTheStream(t *testing.T) {
	l := start(t, func(o *laptop.Options) { o.Watch, o.ListEvery = true, time.Hour })
	next := watching(t, l)
	enqueue(l, "devin-1")
	if o := next(); o.SessionID != "devin-1" {
		t.Errorf("offered %s", o.SessionID)
	}
	enqueue(l, "devin-2")
	if o := next(); o.SessionID != "devin-2" {
		t.Errorf("offered %s", o.SessionID)
	}
	if n := l.Fleet.Calls()[outpoststest.OpList]; n != 1 {
		t.Errorf("listed %d times, want once: the stream brings the rest", n)
	}
}

func TestStreamThatStaysSilentIsMadeUpForByTheListing(t *testing.T) {
	l := start(t, func(o *laptop.Options) { o.Watch, o.ListEvery = true, 50*time.Millisecond })
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpWatch, Kind: outpoststest.FaultSilent, Times: 1000})
	next := watching(t, l)
	enqueue(l, "devin-1")
	if o := next(); o.SessionID != "devin-1" {
		t.Errorf("offered %s", o.SessionID)
	}
}

func TestWatchEndsWhenANewerInvocationHasBegun(t *testing.T) {
	l := start(t, func(o *laptop.Options) { o.Watch, o.ListEvery = true, 20*time.Millisecond })
	done := make(chan error, 1)
	go func() { done <- l.Poll(t.Context()) }()
	for l.Fleet.Calls()[outpoststest.OpList] == 0 {
		select {
		case err := <-done:
			t.Fatal("poll ended by itself:", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := l.Store.Beat(t.Context(), laptop.Outpost, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBrokenListingsDuringAWatchAreTriedAgain(t *testing.T) {
	l := start(t, func(o *laptop.Options) { o.Watch, o.ListEvery = true, 20*time.Millisecond })
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultStatus, Status: 500, Times: 3})
	l.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpWatch, Kind: outpoststest.FaultStatus, Status: 500, Times: 1000})
	enqueue(l, "devin-1")
	if o := watching(t, l)(); o.SessionID != "devin-1" {
		t.Errorf("offered %s", o.SessionID)
	}
}
