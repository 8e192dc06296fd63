package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

func sample(t *testing.T, name string) events.TaskStateChange {
	t.Helper()
	text, err := events.Samples.ReadFile("samples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := events.DecodeTaskStateChange(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEventsSayWhatBecameOfTheTask(t *testing.T) {
	t.Parallel()
	c := tasks.New(nil, "arn:aws:ecs:eu-central-1:123456789012:cluster/outposts", "outpost-worker:9")
	base := session.Task{
		ARN:       "arn:aws:ecs:eu-central-1:123456789012:task/outposts/0f3c2b1a09f84e7d8c6b5a4938271605",
		AttemptID: "8f14e45fceea167a5a36dedd4bea2543f3e2a1b0", Status: "STOPPED", Desired: "STOPPED", Version: 7,
		CreatedAt: time.Date(2026, 2, 3, 10, 0, 8, 331e6, time.UTC),
	}
	for name, change := range map[string]func(*session.Task){
		"task_running":     func(s *session.Task) { s.Status, s.Desired, s.Version = "RUNNING", "RUNNING", 4 },
		"task_spot_notice": func(s *session.Task) { s.Status, s.Version = "RUNNING", 5 }, // it runs on, so nothing has ended
		"task_stopped_exit_0": func(s *session.Task) {
			s.Exit = &session.Exit{Verdict: session.CleanExit, Class: session.Retry, Reason: "the remote exited 0: EssentialContainerExited: Essential container in task exited"}
		},
		"task_failed_to_start": func(s *session.Task) {
			s.Exit = &session.Exit{Verdict: session.Failed, Class: session.Terminal, Breaker: true, Reason: "TaskFailedToStart: CannotPullContainerError: " +
				"pull image manifest has been retried 1 time(s): failed to resolve ref 123456789012.dkr.ecr.eu-central-1.amazonaws.com/outpost-worker:1: " +
				"123456789012.dkr.ecr.eu-central-1.amazonaws.com/outpost-worker:1: not found"}
		},
		"task_spot_interruption": func(s *session.Task) {
			s.Exit = &session.Exit{Verdict: session.Interrupted, Class: session.Retry, Reason: "SpotInterruption: Your Spot Task was interrupted."}
		},
		"task_out_of_memory": func(s *session.Task) {
			s.Exit = &session.Exit{Verdict: session.Failed, Class: session.Retry, Reason: "EssentialContainerExited: Essential container in task exited: " +
				"OutOfMemoryError: Container killed due to memory usage"}
		},
	} {
		want := tasks.Seen{SessionID: "devin-1", OutpostID: "outpost_env-1", Family: "outpost-worker", Task: base}
		change(&want.Task)
		got, ours := c.FromEvent(sample(t, name))
		if diff := cmp.Diff(want, got); diff != "" || !ours {
			t.Errorf("%s: ours %v (-want +got):\n%s", name, ours, diff)
		}
	}
}

func TestEventsOfOtherFamiliesAndClustersAreNotOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []*tasks.Client{
		tasks.New(nil, "outposts", "another"), tasks.New(nil, "outposts"), tasks.New(nil, "another", "outpost-worker"),
	} {
		if got, ours := c.FromEvent(sample(t, "task_running")); ours || !cmp.Equal(got, tasks.Seen{}) {
			t.Errorf("ours: %+v", got)
		}
	}
}

func TestOnlyTheWorkersExitCodeCounts(t *testing.T) {
	t.Parallel()
	c := tasks.New(nil, "outposts", "outpost-worker")
	zero, one := int32(0), int32(1)
	for name, tc := range map[string]struct {
		containers []events.Container
		overrides  []events.ContainerOverride
		want       session.Verdict
	}{
		"sidecar failed":      {[]events.Container{{Name: "sidecar", ExitCode: &one}, {Name: "worker", ExitCode: &zero}}, sample(t, "task_running").Detail.Overrides.Containers, session.CleanExit},
		"sidecar was clean":   {[]events.Container{{Name: "worker", ExitCode: &one}, {Name: "sidecar", ExitCode: &zero}}, sample(t, "task_running").Detail.Overrides.Containers, session.Failed},
		"worker has none":     {[]events.Container{{Name: "worker"}, {Name: "sidecar", ExitCode: &zero}}, sample(t, "task_running").Detail.Overrides.Containers, session.Failed},
		"no container":        {nil, sample(t, "task_running").Detail.Overrides.Containers, session.Failed},
		"not of ours, alone":  {[]events.Container{{Name: "worker", ExitCode: &zero}}, nil, session.CleanExit},
		"not of ours, of two": {[]events.Container{{Name: "worker", ExitCode: &zero}, {Name: "sidecar", ExitCode: &zero}}, nil, session.Failed},
	} {
		e := sample(t, "task_stopped_exit_0")
		e.Detail.Containers, e.Detail.Overrides.Containers = tc.containers, tc.overrides
		seen, ours := c.FromEvent(e)
		if !ours || seen.Task.Exit == nil || seen.Task.Exit.Verdict != tc.want {
			t.Errorf("%s: %+v", name, seen.Task.Exit)
		}
	}
	memory := sample(t, "task_stopped_exit_0")
	memory.Detail.Containers = []events.Container{{Name: "worker", ExitCode: &zero, Reason: "OutOfMemoryError: Container killed"}, {Name: "sidecar", Reason: "odd"}}
	if seen, _ := c.FromEvent(memory); seen.Task.Exit.Verdict != session.Failed || !strings.Contains(seen.Task.Exit.Reason, "OutOfMemoryError") {
		t.Errorf("out of memory beside a sidecar: %+v", seen.Task.Exit)
	}
}
