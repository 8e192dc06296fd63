package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions/sweep"
)

// sweepLeases measures one run of sweep over many active leases, with ports in memory: what is measured is the program, and how often it would call AWS.
func sweepLeases(ctx context.Context, o options) ([]table, error) {
	quiet := table{Bench: "sweep", Title: "one run, every session served and no claim due", Notes: []string{"Ports are in memory. calls: ListTasks and DescribeTasks of ECS, pages of claims and renewals of the fleet API, reads and writes of the table."}}
	due := table{Bench: "sweep", Title: "one run, every claim due for renewal"}
	most := slices.Max(o.Leases)
	for _, n := range o.Leases {
		profile := ""
		if n == most {
			profile = o.Profile
		}
		for _, way := range []struct {
			t       *table
			age     time.Duration
			profile string
		}{{&quiet, time.Minute, profile}, {&due, 3 * time.Minute, ""}} {
			figures, err := sweepOnce(ctx, n, way.age, way.profile)
			if err != nil {
				return nil, fmt.Errorf("%d leases: %w", n, err)
			}
			way.t.Rows = append(way.t.Rows, row{fmt.Sprintf("%d leases", n), figures})
		}
	}
	return []table{quiet, due}, nil
}

// sweepOnce runs sweep over n leases whose claims are of an age, once to warm up and once measured.
func sweepOnce(ctx context.Context, n int, claimAge time.Duration, profile string) ([]figure, error) {
	var w *world
	var before, after runtime.MemStats
	var took time.Duration
	var peak uint64
	for pass := range 2 {
		w = newWorld(n, claimAge, time.Now())
		handler := sweep.Handler{Kit: w.kit(time.Now, io.Discard)}
		runtime.GC()
		runtime.ReadMemStats(&before)
		stopProfile, err := startProfile(profile, pass)
		if err != nil {
			return nil, err
		}
		watch := watchHeap()
		began := time.Now()
		err = handler.Handle(ctx)
		took = time.Since(began)
		peak = watch()
		if err := stopProfile(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		runtime.ReadMemStats(&after)
	}
	return []figure{milliseconds("time", took), {"µs each", float64(took.Microseconds()) / float64(n), ""},
		count("ListTasks", w.ecs.lists()), count("DescribeTasks", w.ecs.describes()), count("claim pages", w.fleet.pages()), count("renewals", w.fleet.claims()),
		count("reads", w.store.reads()), count("writes", w.store.writes()),
		megabytes("allocated", int64(after.TotalAlloc-before.TotalAlloc)), count("allocations each", int(after.Mallocs-before.Mallocs)/n),
		megabytes("peak heap above start", max(0, int64(peak)-int64(before.HeapAlloc)))}, nil
}

// watchHeap samples the heap until it is told to stop, and answers its largest size.
func watchHeap() (stop func() uint64) {
	done := make(chan struct{})
	var peak uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() uint64 { close(done); wg.Wait(); return peak }
}

// startProfile profiles the measured pass, when a file is named.
func startProfile(name string, pass int) (stop func() error, err error) {
	if name == "" || pass == 0 {
		return func() error { return nil }, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	runtime.MemProfileRate = 512
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			return err
		}
		allocs, err := os.Create(name + ".allocs")
		if err != nil {
			return err
		}
		defer allocs.Close()
		return pprof.Lookup("allocs").WriteTo(allocs, 0)
	}, nil
}
