package ecstest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// end is how a task ended.
type end struct {
	StopCode, Reason string
	Exit             int // -1 = none
}

func ended(task ecstest.Task) end {
	e := end{task.StopCode, task.Reason, -1}
	if task.Exit != nil {
		e.Exit = *task.Exit
	}
	return e
}

func TestExitCodeOfAProcessIsTheTasks(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 7, 30} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, child(t, "exit", "CODE", fmt.Sprint(code)))
			got := ended(b.await(b.run("a"), "STOPPED"))
			if diff := cmp.Diff(end{"EssentialContainerExited", "Essential container in task exited", code}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStopTaskTerminatesAndWaitsThenKills(t *testing.T) {
	t.Parallel()
	for what, exit := range map[string]int{"polite": 30, "stubborn": 137} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			out := newLines()
			d := child(t, what)
			d.StopTimeout = 10 * time.Second
			if what == "stubborn" {
				d.StopTimeout = 50 * time.Millisecond
			}
			b := newBench(t, d, func(o *ecstest.Options) { o.Output = out })
			arn := b.run("a")
			out.await(t, "ready")
			b.stop(arn, "enough")
			b.stop(arn, "a second reason is not told")
			if diff := cmp.Diff(end{"UserInitiated", "enough", exit}, ended(b.await(arn, "STOPPED"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeathsOfATaskAreToldAsECSTellsThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		death     ecstest.Death
		want      end
		container string
	}{
		"crash":  {ecstest.Crash, end{"EssentialContainerExited", "Essential container in task exited", 137}, ""},
		"memory": {ecstest.OutOfMemory, end{"EssentialContainerExited", "Essential container in task exited", 137}, "OutOfMemoryError: Container killed due to memory usage"},
		"spot":   {ecstest.SpotInterruption, end{"SpotInterruption", "Your Spot Task was interrupted.", 30}, ""},
		"host":   {ecstest.HostLost, end{"", "Host EC2 (instance i-0123456789abcdef0) terminated.", -1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newLines()
			b := newBench(t, child(t, "polite"), func(o *ecstest.Options) { o.Output = out })
			arn := b.run("a")
			out.await(t, "ready")
			if err := b.Kill(arn, tc.death); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ended(b.await(arn, "STOPPED"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := aws.ToString(b.describe(arn).Tasks[0].Containers[0].Reason); got != tc.container {
				t.Errorf("container's reason: %q, want %q", got, tc.container)
			}
			if err := b.Kill(arn, tc.death); err == nil {
				t.Error("a dead task was killed again")
			}
		})
	}
}

func TestProcessHasTheDefinitionsEnvironmentAndTheOverridesOnly(t *testing.T) {
	t.Parallel()
	out := newLines()
	d := child(t, "environment", "FROM", "definition", "KEPT", "yes")
	d.WorkRoot = t.TempDir()
	b := newBench(t, d, func(o *ecstest.Options) { o.Output = out })
	arn := b.run("a", func(in *ecs.RunTaskInput) {
		in.Overrides = &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{{
			Name: aws.String("worker"), Environment: []types.KeyValuePair{{Name: aws.String("FROM"), Value: aws.String("override")}},
		}}}
	})
	b.await(arn, "STOPPED")
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	root, err := filepath.EvalSymlinks(d.WorkRoot)
	if err != nil {
		t.Fatal(err)
	}
	prefix := id[:8] + " "
	want := prefix + "CHILD=environment FROM=override KEPT=yes\n" + prefix + "in " + filepath.Join(root, id) + "\n"
	if got := out.await(t, "in "); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func TestTasksEndTakesWhatItStartedWithIt(t *testing.T) {
	t.Parallel()
	out := newLines()
	b := newBench(t, child(t, "parent"), func(o *ecstest.Options) { o.Output = out })
	if got := ended(b.await(b.run("a"), "STOPPED")); got.Exit != 0 {
		t.Errorf("exit %d", got.Exit)
	}
	var pid int
	_, told, _ := strings.Cut(out.await(t, "grandchild "), "grandchild ")
	if _, err := fmt.Sscan(told, &pid); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// gone waits until a process is dead; a zombie that nobody reaps is dead too.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func TestCloseKillsEveryTask(t *testing.T) {
	t.Parallel()
	out := newLines()
	b := newBench(t, child(t, "stubborn"), func(o *ecstest.Options) { o.Output = out })
	task := b.await(b.run("a"), "RUNNING")
	out.await(t, "ready")
	b.Close()
	gone(t, task.PID)
}

func TestCommandThatCannotStartFailsToStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, ecstest.Definition{Command: []string{"/nowhere/to/be/found"}})
	arn := b.run("a")
	if diff := cmp.Diff(end{"TaskFailedToStart", "Task failed to start", -1}, ended(b.await(arn, "STOPPED"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := aws.ToString(b.describe(arn).Tasks[0].Containers[0].Reason); !strings.HasPrefix(got, "CannotStartContainerError: ") {
		t.Errorf("container's reason: %q", got)
	}
}

func TestStubIsToldWhyItEnds(t *testing.T) {
	t.Parallel()
	causes := make(chan error, 2)
	b := newBench(t, ecstest.Definition{Stub: func(ctx context.Context, env map[string]string) int {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return 30
	}})
	stopped := b.run("a")
	b.await(stopped, "RUNNING")
	b.stop(stopped, "enough")
	if got := ended(b.await(stopped, "STOPPED")); got.Exit != 30 {
		t.Errorf("stopped: exit %d", got.Exit)
	}
	if cause := <-causes; !errors.Is(cause, ecstest.ErrTerminated) {
		t.Errorf("stopped: cause %v", cause)
	}
	killed := b.run("b")
	b.await(killed, "RUNNING")
	if err := b.Kill(killed, ecstest.Crash); err != nil {
		t.Fatal(err)
	}
	if got := ended(b.await(killed, "STOPPED")); got.Exit != 137 {
		t.Errorf("killed: exit %d", got.Exit)
	}
	if cause := <-causes; !errors.Is(cause, ecstest.ErrKilled) {
		t.Errorf("killed: cause %v", cause)
	}
}
