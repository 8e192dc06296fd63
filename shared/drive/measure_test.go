package drive_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/google/go-cmp/cmp"
)

// metric is the name and value of a metric line.
func metric(t *testing.T, line string) (string, any) {
	t.Helper()
	var fields struct {
		AWS struct {
			CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
		} `json:"_aws"`
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &values); err != nil {
		t.Fatal(err)
	}
	name := fields.AWS.CloudWatchMetrics[0].Metrics[0].Name
	return name, values[name]
}

func TestWholeLifeIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.pass(10 * time.Second)
	w.drive()
	w.pass(40 * time.Second)
	must(t, w.server.SetStatus(devin, "running"))
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.move("task-1", "RUNNING"), w.Now()) })
	w.pass(4 * time.Minute) // later than sweep would be
	w.drive()
	if len(w.tokens) != 1 {
		t.Errorf("a renewal encrypts a token")
	}
	w.pass(time.Minute)
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "20"), w.Now()) })
	w.pass(time.Minute)
	must(t, w.server.Suspend(devin))
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-2", "0"), w.Now()) })
	want := []string{"SessionsClaimed 1", "PickupSeconds 10", "TasksLaunched 1", "StartSeconds 40", "ConnectSeconds 40", "ClaimsRenewedLate 1", "LaunchesFailed 1", "TasksLaunched 1",
		"SessionsSuspended 1"}
	if diff := cmp.Diff(want, w.counted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoTokenIsEverToldToAnybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	for _, f := range []outpoststest.Fault{
		{Op: outpoststest.OpClaim, Kind: outpoststest.FaultStatus, Status: 500, Times: 1},
		{Op: outpoststest.OpClaim, Kind: outpoststest.FaultDrop, Times: 1},
		{Op: outpoststest.OpGet, Kind: outpoststest.FaultMalformed, Times: 1},
	} {
		w.server.Fault(f)
	}
	w.ecs.answers = []string{"Capacity is unavailable at this time. Please try again later.", "lost"}
	for range 8 {
		w.drive(patience(5 * time.Second))
		w.pass(time.Minute)
	}
	w.drive(func(j *drive.Job) { j.Tasks = news(w.ecs.exit("task-1", "image"), w.Now()) })
	w.server.SetToken("cog_another")
	w.pass(3 * time.Minute)
	w.drive()
	if len(w.tokens) < 2 || w.logs.Len() == 0 || w.metrics.Len() == 0 {
		t.Fatalf("%d tokens, %d bytes of logs", len(w.tokens), w.logs.Len())
	}
	events, err := json.Marshal(w.told)
	must(t, err)
	lease, err := json.Marshal(w.lease())
	must(t, err)
	launches, err := json.Marshal(w.ecs.calls)
	must(t, err)
	for where, text := range map[string]string{"the logs": w.logs.String(), "the metrics": w.metrics.String(), "the events": string(events), "the lease": string(lease),
		"the launches": string(launches), "the trail": strings.Join(w.trail, "\n")} {
		for _, token := range append(w.tokens, account) {
			if strings.Contains(text, token) || strings.Contains(text, token[:12]) {
				t.Errorf("%s hold a token: %s", where, text)
			}
		}
	}
}

func TestRoundOfLaunchingThatGaveNoTaskIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue()
	w.ecs.answers = []string{full, full}
	w.drive()
	if diff := cmp.Diff([]string{"SessionsClaimed 1", "LaunchesFailed 1", "TasksLaunched 1"}, w.counted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsToldOfADriveThatChangesNothing(t *testing.T) {
	t.Parallel()
	w := launched(t)
	w.told = nil
	w.drive()
	if w.tells != 1 || len(w.told) != 0 {
		t.Errorf("told %d times, at last %v", w.tells, w.told)
	}
}
