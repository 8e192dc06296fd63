package sweep_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/sweep"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// fleet is an API of which only listings are asked for: it tells of each, and does not answer before the gate is open.
type fleet struct {
	functions.Fleet
	outpost string
	asked   chan<- string
	gate    <-chan struct{} // nil = open
}

func (f fleet) List(ctx context.Context, _ outposts.ListQuery) (outposts.Listing, error) {
	select {
	case f.asked <- f.outpost:
	case <-ctx.Done():
	}
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
		}
	}
	return outposts.Listing{}, ctx.Err()
}

type noTasks struct{ functions.Tasks }

func (noTasks) All(context.Context) ([]tasks.Seen, error) { return nil, nil }

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (wall) Sleep(context.Context, time.Duration) error { return nil }

func TestOutpostsWhoseFleetDoesNotAnswerKeepNoOtherFromBeingSwept(t *testing.T) {
	t.Parallel()
	const hung, others = 7, 20
	asked, gate := make(chan string, 4*(hung+others)), make(chan struct{})
	var list []config.Outpost
	for i := range hung + others { // those that hang come first in the order of their ids
		list = append(list, config.Outpost{ID: fmt.Sprintf("outpost_env-%02d", i), MaxSessions: 1})
	}
	store := &lease.Memory{}
	kit := functions.Kit{
		AcceptorID: "us", Store: store, Clock: wall{}, Log: slog.New(slog.DiscardHandler), Jitter: func() float64 { return 0 },
		Outposts: func(context.Context) ([]config.Outpost, error) { return list, nil },
		Tasks:    func([]config.Outpost) functions.Tasks { return noTasks{} },
		Fleet: func(o config.Outpost) functions.Fleet {
			if o.ID < fmt.Sprintf("outpost_env-%02d", hung) {
				return fleet{outpost: o.ID, asked: asked, gate: gate}
			}
			return fleet{outpost: o.ID, asked: asked}
		},
		FanOut: func(n, atOnce int, do func(i int)) {
			free := make(chan struct{}, atOnce)
			var wg sync.WaitGroup
			for i := range n {
				free <- struct{}{}
				wg.Go(func() { do(i); <-free })
			}
			wg.Wait()
		},
	}
	for _, o := range list { // so that nobody's poll is missed, and each is listed once
		if err := store.Polled(t.Context(), o.ID, time.Now(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- sweep.Handler{Kit: kit}.Handle(t.Context()) }()
	seen := map[string]int{}
	for len(seen) < len(list) {
		select {
		case id := <-asked:
			seen[id]++
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d outposts were swept beside those that hang", len(seen), len(list))
		}
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("the claims of %s were listed %d times", id, n)
		}
	}
}
