package drive_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

func TestHostileSessionIDLivesAndDiesLikeAnyOther(t *testing.T) {
	t.Parallel()
	legal := regexp.MustCompile(`^[A-Za-z0-9/_-]{1,128}$`)
	for _, id := range []string{"devin-../../etc/passwd", "..", "devin-" + strings.Repeat("x", 300), "devin-ü\u202e☃", "devin 1?outpost=x#y", `devin-"};{"a":"b`, "devin-%2e%2e%2f", "session#devin-1"} {
		w := newWorld(t)
		if _, err := w.server.TryEnqueue(enqueued(id)); err != nil {
			t.Fatal(err)
		}
		as := func(j *drive.Job) { j.SessionID = id }
		res := w.drive(as)
		if res.Err != nil || res.Lease.State != session.Launching || res.Lease.TaskARN == "" {
			t.Errorf("%q: %+v", id, res)
			continue
		}
		launch := w.ecs.calls[0]
		launch.Cluster = "arn:cluster"
		in, err := tasks.RunTaskInput(launch)
		if err != nil || !legal.MatchString(*in.StartedBy) || len(*in.ClientToken) > 64 {
			t.Errorf("%q: startedBy %v, client token %v: %v", id, in.StartedBy, in.ClientToken, err)
		}
		must(t, w.server.Terminate(id))
		w.pass(time.Minute)
		if res = w.drive(as, func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "0"), w.Now()) }); !res.Ended || w.slots() != 0 {
			t.Errorf("%q: %+v", id, res)
		}
	}
}

func TestClocksThatAreMinutesApartNeitherLoseAClaimNorRenewItInCircles(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-2 * time.Minute, 2 * time.Minute, -10 * time.Minute, 10 * time.Minute} {
		w := newWorld(t)
		w.skew = skew
		w.enqueue()
		w.drive()
		w.pass(30 * time.Second)
		w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
		for minute := range 9 { // before it connects, an expired claim would go back to the queue
			w.pass(time.Minute)
			res := w.drive()
			if s := w.server.Session(devin); s.Phase != "claimed" || s.Claims != 1 || s.Renewals > minute+1 || res.Err != nil || res.Lease.State != session.Running {
				t.Fatalf("%v apart, after %d minutes: %+v, %+v", skew, minute+1, s, res)
			}
		}
	}
}

func TestFunctionWhoseClockIsFiveSecondsBehindTheOthersDoesNoHarm(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.pass(-5 * time.Second)
	if res := w.drive(); res.Err != nil || res.Lease.TaskARN != "task-1" || len(w.ecs.calls) != 1 {
		t.Errorf("%+v", res)
	}
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	must(t, w.server.SetStatus(devin, "running"))
	w.drive()
	w.pass(-5 * time.Second)
	if res := w.drive(); res.Err != nil || res.Lease.State != session.Running || len(w.ecs.stops) != 0 {
		t.Errorf("%+v", res)
	}
}
