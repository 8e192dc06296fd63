package drive_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// survive runs a drive and says whether it crashed.
func survive(run func()) (crashed bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
			crashed = true
		}
	}()
	run()
	return false
}

// live lets a session live: it is offered, its task runs, its session is over, its task exits. crashAt is the call at which the driver dies, counted over the
// whole life, before or after the call's effect; afterwards only a sweep a minute looks. It answers how many calls there were.
func live(t *testing.T, w *world, crashAt int, afterEffect bool) (calls int) {
	t.Helper()
	hook := func(string) error {
		if calls++; calls == crashAt {
			panic(crash{})
		}
		return nil
	}
	if afterEffect {
		w.after = hook
	} else {
		w.before = hook
	}
	steps := []func(){
		func() { w.drive() },
		func() {
			w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move(w.lease().TaskARN, "RUNNING"), w.Now()) })
		},
		func() {
			w.drive(patience(20*time.Second), func(j *drive.Job) { j.Tasks = news(w.ecs.exit(w.lease().TaskARN, "0"), w.Now()) })
		},
	}
	sweepUntil := func(holds func() bool) {
		for range 30 {
			if holds() {
				return
			}
			w.pass(time.Minute)
			survive(func() { w.drive(patience(8 * time.Second)) })
			if n := len(w.ecs.live()); n > 1 {
				t.Errorf("%d live tasks", n)
			}
		}
		t.Errorf("half an hour of sweeps does not bring it about; the lease is %+v\ntrail %q", w.lease(), w.trail)
	}
	launched := func() bool { return w.lease().Active() && w.lease().TaskARN != "" }
	running := func() bool { return w.lease().Active() && w.lease().State == session.Running }

	survive(steps[0])
	sweepUntil(launched)
	w.pass(30 * time.Second)
	if w.lease().TaskARN == "" {
		return calls
	}
	survive(steps[1])
	sweepUntil(running)
	must(t, w.server.SetStatus(devin, "running"))
	w.pass(time.Minute)
	must(t, w.server.Terminate(devin))
	survive(steps[2])
	sweepUntil(func() bool { return !w.lease().Active() })
	return calls
}

func TestDriverMayDieAtAnyCallAndTheNextOnesCompleteTheLife(t *testing.T) {
	t.Parallel()
	whole := live(t, newWorldWithSession(t), 0, false)
	if whole < 15 {
		t.Fatalf("a whole life has %d calls only", whole)
	}
	for _, afterEffect := range []bool{false, true} {
		for at := 1; at <= whole; at++ {
			t.Run(fmt.Sprintf("call %d, after its effect: %v", at, afterEffect), func(t *testing.T) {
				t.Parallel()
				w := newWorldWithSession(t)
				live(t, w, at, afterEffect)
				l, s := w.lease(), w.server.Session(devin)
				if l.State != session.Ended || l.Outcome != session.Completed || w.slots() != 0 || s.Phase != "pending" {
					t.Errorf("the lease: %+v\n%d slots, the session: %+v", l, w.slots(), s)
				}
				if len(w.ecs.tasks) != 1 {
					t.Errorf("%d tasks were started", len(w.ecs.tasks))
				}
			})
		}
	}
}

func newWorldWithSession(t *testing.T) *world {
	w := newWorld(t)
	w.enqueue()
	return w
}
