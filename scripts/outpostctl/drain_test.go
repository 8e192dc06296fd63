package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// follow starts a drain and gives its news as it tells them.
type follow struct {
	b    *bundle
	news *bufio.Scanner
	wait func() error
	kill func(os.Signal) error
	errs *strings.Builder
}

func (b *bundle) drain(args ...string) follow {
	b.t.Helper()
	c := b.command(nil, append([]string{"--json", "drain", "--every", "50ms"}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	errs := &strings.Builder{}
	c.Stderr = errs
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	return follow{b: b, news: bufio.NewScanner(out), wait: c.Wait, kill: func(s os.Signal) error { return c.Process.Signal(s) }, errs: errs}
}

// until reads on to an event; with an empty name, to the end.
func (f follow) until(event string) (read []progress) {
	f.b.t.Helper()
	for f.news.Scan() {
		var p progress
		if err := json.Unmarshal(f.news.Bytes(), &p); err != nil {
			f.b.t.Fatalf("news %s: %v", f.news.Text(), err)
		}
		read = append(read, p)
		if p.Event == event {
			return read
		}
	}
	if event != "" {
		f.b.t.Fatalf("the news ended before %q: %+v: %s", event, read, f.errs)
	}
	return read
}

func events(news []progress) (names []string) {
	for _, p := range news {
		if len(names) == 0 || names[len(names)-1] != p.Event {
			names = append(names, p.Event)
		}
	}
	return names
}

// left behind says what an emptied deployment still holds.
func (b *bundle) leftBehind() (held []string) {
	b.t.Helper()
	c, err := b.Store.Counter(b.ctx, laptop.Outpost)
	if err != nil || c.SlotsUsed != 0 || !c.Draining {
		held = append(held, "the slot counter")
	}
	for _, s := range b.Fleet.Sessions() {
		if s.Phase == "claimed" {
			held = append(held, "the claim of "+s.ID)
		}
	}
	for _, task := range b.ECS.Tasks() {
		if task.Status != "STOPPED" {
			held = append(held, "task "+task.ARN)
		}
	}
	return held
}

func TestDrainNowStopsTheTasksOfAnOutpostThatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	b.await("devin-1", session.Running)
	others := strings.ReplaceAll(b.variable("OUTPOSTS"), laptop.Outpost, "outpost_env-other")
	others = regexp.MustCompile(`"task_definition":"[^"]*"`).ReplaceAllString(others, `"task_definition":"another-family"`)
	r := b.outcome(b.command([]string{"OUTPOSTS=" + others}, "drain", "--outpost", laptop.Outpost, "--now", "--every", "50ms", "--timeout", "20s"))
	r.succeeds(t)
	if diff := cmp.Diff([]string(nil), b.leftBehind()); diff != "" {
		t.Errorf("left behind (-want +got):\n%s\n%s", diff, r.out)
	}
}

func TestDrainWaitsForRunningSessionsAndTakesNoNewOnes(t *testing.T) {
	t.Parallel()
	b := start(t, func(o *laptop.Options) { o.MaxSessions = 2 })
	b.loops()
	b.enqueue(3)
	b.await("devin-1", session.Running)
	b.await("devin-2", session.Running)
	f := b.drain()
	f.until("waiting")
	b.terminate("devin-1")
	for f.until("waiting")[0].Slots != 1 { // progress is told
	}
	b.terminate("devin-2")
	f.until("drained")
	if err := f.wait(); err != nil {
		t.Errorf("%v: %s", err, f.errs)
	}
	if diff := cmp.Diff([]string(nil), b.leftBehind()); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
	for id, outcome := range map[string]session.Outcome{"devin-1": session.Completed, "devin-2": session.Completed} {
		if l := b.await(id, session.Ended); l.Outcome != outcome {
			t.Errorf("%s ended %s: %s", id, l.Outcome, l.Reason)
		}
	}
	if s := b.Fleet.Session("devin-3"); s.Claims != 0 {
		t.Errorf("a session was claimed while the outpost drained: %+v", s)
	}
	r := b.ctl("resume")
	r.succeeds(t)
	if want := "outpost_env-demo  takes sessions: yes\n"; r.out != want {
		t.Errorf("resume said %q, want %q", r.out, want)
	}
	b.await("devin-3", session.Running)
}

func TestDrainNowStopsTasksAndGivesTheSessionsBack(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	ids := b.enqueue(3)
	for _, id := range ids {
		b.await(id, session.Running)
	}
	f := b.drain("--now")
	names := events(f.until(""))
	if err := f.wait(); err != nil {
		t.Fatalf("%v: %s", err, f.errs)
	}
	if names[0] != "draining" || names[1] != "stopped" || names[len(names)-1] != "drained" {
		t.Errorf("news: %v", names)
	}
	if diff := cmp.Diff([]string(nil), b.leftBehind()); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
	for _, id := range ids {
		if l := b.await(id, session.Ended); l.Outcome != session.Drained || l.Attempt != 1 || l.Failures != 0 {
			t.Errorf("%s ended %s after %d attempts with %d failures: %s", id, l.Outcome, l.Attempt, l.Failures, l.Reason)
		}
		if s := b.Fleet.Session(id); s.Phase != "pending" || s.Releases == 0 {
			t.Errorf("%s is to wait in the queue again: %+v", id, s)
		}
	}
	for _, task := range b.ECS.Tasks() {
		if !strings.HasPrefix(task.Reason, awserr.StopPrefix) {
			t.Errorf("task stopped for %q, which is not known as ours", task.Reason)
		}
	}
	b.ctl("drain", "--now").succeeds(t) // once more changes nothing
	if diff := cmp.Diff([]string(nil), b.leftBehind()); diff != "" {
		t.Errorf("left behind after a second drain (-want +got):\n%s", diff)
	}
}

func TestInterruptedDrainLeavesTheOutpostDrainingAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	b.await("devin-1", session.Running)
	f := b.drain()
	f.until("waiting")
	if err := f.kill(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	f.until("")
	if err := f.wait(); err == nil {
		t.Error("an interrupted drain must not look like a finished one")
	}
	want := "outpostctl: interrupted with slots used 1, tasks alive 1, leases: 1 running; the outposts go on draining: `outpostctl drain` waits on, `outpostctl resume` takes sessions again\n"
	if diff := cmp.Diff(want, f.errs.String()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if c, err := b.Store.Counter(b.ctx, laptop.Outpost); err != nil || !c.Draining || c.SlotsUsed != 1 {
		t.Errorf("counter %+v, %v", c, err)
	}
	b.ctl("drain", "--now", "--every", "50ms").succeeds(t)
	if diff := cmp.Diff([]string(nil), b.leftBehind()); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

func TestDrainGivesUpWaitingAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	b.await("devin-1", session.Running)
	r := b.ctl("drain", "--outpost", laptop.Outpost, "--every", "20ms", "--timeout", "500ms")
	r.fails(t, "500ms passed with slots used 1, tasks alive 1, leases: 1 running; the outposts go on draining: wait on with a longer --timeout, stop what runs with --now, "+
		"or take sessions again with `outpostctl resume --outpost outpost_env-demo`. If nothing moves at all, `outpostctl doctor` says why")
	if l := b.await("devin-1", session.Running); l.Attempt != 1 {
		t.Errorf("waiting disturbed the session: %+v", l)
	}
}

func TestDrainStopsALaunchThatBecomesATaskWhileItWaits(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	release := b.ECS.Hold(1)
	b.loops()
	b.enqueue(1)
	for b.await("devin-1", session.Launching).TaskARN == "" {
		time.Sleep(time.Millisecond) // between two looks at what another process does
	}
	f := b.drain("--now")
	f.until("stopped")
	release()
	f.until("drained")
	if err := f.wait(); err != nil {
		t.Errorf("%v: %s", err, f.errs)
	}
	if l := b.await("devin-1", session.Ended); l.Outcome != session.Drained {
		t.Errorf("ended %s: %s", l.Outcome, l.Reason)
	}
}

func TestDrainOfAnEmptyOutpostIsOverAtOnceAndTellsPeople(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	r := b.ctl("drain")
	r.succeeds(t)
	want := "# draining, nothing new is taken: outpost_env-demo\n# drained: no session holds a slot and no task lives; `outpostctl resume` takes sessions again\n"
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
}

func TestDrainEndsWithAClearWordWhenTasksMayNotBeStopped(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.loops()
	b.enqueue(1)
	b.await("devin-1", session.Running)
	b.refuseStops()
	b.ctl("drain", "--now", "--every", "50ms").fails(t, "AccessDeniedException: not allowed; the outposts go on draining: `outpostctl resume` takes sessions again")
}

func TestDrainReleasesAClaimThatNoLeaseNames(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.enqueue(2)
	for id, acceptor := range map[string]string{"devin-1": laptop.AcceptorID, "devin-2": "somebody-else"} {
		token := func(context.Context, outposts.Secret) (outposts.Secret, error) {
			return outposts.Secret(b.Fleet.Token()), nil
		}
		_, err := outposts.New(outposts.Options{BaseURL: b.Fleet.URL(), Token: token, Now: time.Now}).Claim(b.ctx, id, acceptor)
		b.must(err)
	}
	f := b.drain()
	if diff := cmp.Diff([]string{"draining", "released", "drained"}, events(f.until(""))); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if err := f.wait(); err != nil {
		t.Errorf("%v: %s", err, f.errs)
	}
	got := map[string]string{"devin-1": b.Fleet.Session("devin-1").Phase, "devin-2": b.Fleet.Session("devin-2").Phase}
	if diff := cmp.Diff(map[string]string{"devin-1": "pending", "devin-2": "claimed"}, got); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

func TestDrainIsOverEvenIfTheFleetDoesNotTellOfClaims(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpList, Kind: outpoststest.FaultStatus, Status: 503})
	f := b.drain()
	if diff := cmp.Diff([]string{"draining", "not read", "drained"}, events(f.until(""))); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if err := f.wait(); err != nil {
		t.Errorf("%v: %s", err, f.errs)
	}
}
