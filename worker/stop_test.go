package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// signal sends the worker a signal.
func (r *run) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

func TestStopIsPassedOnAtOnceAndWaitsForTheRemote(t *testing.T) {
	t.Parallel()
	b := newBench(t, `trap 'echo asked; sleep 0.5; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
	r := b.start()
	r.awaitLine("ready")
	asked := time.Now()
	r.signal(syscall.SIGTERM)
	r.awaitLine("asked")
	if took := time.Since(asked); took > 2*time.Second {
		t.Errorf("the stop took %s to arrive", took)
	}
	r.signal(syscall.SIGTERM) // a second one changes nothing
	r.signal(syscall.SIGINT)
	r.expect(30)
	if diff := cmp.Diff([]string{"ready", "asked", "saved"}, r.lines("remote")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRemoteThatWillNotEndIsKilledWithItsGroupAfterTheStopTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, `trap '' TERM; sleep 300 & echo $! > child; echo $$ > self; echo ready; while :; do sleep 0.05; done`)
	b.env["OUTPOST_STOP_SECONDS"] = "1"
	r := b.start()
	r.awaitLine("ready")
	asked := time.Now()
	r.signal(syscall.SIGTERM)
	r.expect(30)
	if took := time.Since(asked); took < time.Second {
		t.Errorf("killed after %s, before its time was up", took)
	}
	expectGone(t, filepath.Join(b.work, "self"), filepath.Join(b.work, "child"))
}

func TestStopBeforeTheRemoteStartsEndsTheWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo "+executed)
	b.setUp(`echo ready; exec sleep 60`)
	r := b.start()
	r.awaitLine("ready")
	r.signal(syscall.SIGTERM)
	r.expect(30)
	if lines := r.lines("remote"); len(lines) > 0 {
		t.Errorf("the remote ran: %q", lines)
	}
}

func TestStopEndsAWorkerThatWaitsForSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"AWS_ENDPOINT_URL", "OUTPOST_STATIC_URL"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "echo "+executed)
			asked := make(chan struct{}, 100)
			silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					return // it is only asked for the time
				}
				_, _ = io.Copy(io.Discard, r.Body)
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			t.Cleanup(silent.Close)
			b.env[variable] = silent.URL
			r := b.start()
			<-asked
			r.signal(syscall.SIGTERM)
			stopped := time.Now()
			r.expect(30)
			if took := time.Since(stopped); took > 2*time.Second {
				t.Errorf("the worker took %s to end", took)
			}
		})
	}
}

func TestRemoteThatFailsWhileItIsStoppedCountsAsStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t, `trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done`)
	r := b.start()
	r.awaitLine("ready")
	r.signal(syscall.SIGTERM)
	r.expect(30)
}

func TestNothingOfASessionOutlivesIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a process adopt the orphans of its descendants")
	}
	b := newBench(t, `sleep 300 & echo $! > background
setsid sh -c 'echo $$ > daemon; setsid sleep 300 & echo $! > deeper; exec sleep 300' &
while ! [ -s deeper ]; do sleep 0.02; done`)
	r := b.start()
	r.expect(0)
	expectGone(t, filepath.Join(b.work, "background"), filepath.Join(b.work, "daemon"), filepath.Join(b.work, "deeper"))
}

// expectGone fails for each file that names a process that is still there.
func expectGone(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d (%s) is still there: %v", pid, filepath.Base(file), err)
		}
	}
}

func TestOutputThatComesTooFastIsThinnedOutAndSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, `i=0; while [ $i -lt 5000 ]; do echo "line $i"; i=$((i+1)); done`)
	r := b.start()
	r.expect(0)
	dropped := 0.0
	for _, one := range r.log {
		if n, ok := one["lines"].(float64); ok && strings.HasPrefix(one["msg"].(string), "output dropped") {
			dropped += n
		}
	}
	kept := len(r.lines("remote"))
	if dropped == 0 || kept+int(dropped) != 5000 {
		t.Errorf("%d lines kept, %v said to be dropped, of 5000", kept, dropped)
	}
}
