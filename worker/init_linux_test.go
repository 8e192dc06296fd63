package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// zombies is a shell function that waits until no process is defunct, or says which are after five seconds.
const zombies = `zombies() {
  tries=100
  while [ $tries -gt 0 ]; do
    dead=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ')
    [ "$dead" = 0 ] && break
    sleep 0.05; tries=$((tries-1))
  done
  echo "zombies: $dead"
}
`

func TestFirstProcessReapsOrphansAndPassesStopsOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, zombies+`trap 'echo asked; exit 0' TERM
for i in 1 2 3 4 5; do sh -c 'sh -c "sleep 0.1; exit 3" & exit 0'; done
sleep 0.3; zombies
cat /proc/1/comm; echo ready; while :; do sleep 0.05; done`)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	r := start(t, inJail(t, b.command()))
	r.awaitLine("ready")
	asked := time.Now()
	r.signal(syscall.SIGTERM)
	r.awaitLine("asked")
	if took := time.Since(asked); took > 2*time.Second {
		t.Errorf("the stop took %s to arrive", took)
	}
	r.expect(30)
	if diff := cmp.Diff([]string{"zombies: 0", "outpost-worker", "ready", "asked"}, r.lines("remote")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSessionOwnsItsWorkspaceAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, `id -un; stat -c '%U %a %n' . repos .outpost "$DEVIN_REMOTE_STATE_DIR" "$HOME" /var/log/devin /var/lib/outpost-worker "$0" | sed "s,$PWD/,,"
echo "$HOME"; for f in /var/lib/outpost-worker/x "$0"; do (echo > "$f") 2>/dev/null || echo "cannot write"; done; ulimit -c; ulimit -n; umask`)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	r := start(t, inJail(t, b.command()))
	r.expect(0)
	session := b.env["OUTPOST_SESSION_ID"]
	got := r.lines("remote")
	want := []string{"devin", "devin 755 .", "devin 755 repos", "devin 755 .outpost", "devin 700 .outpost/" + session + "/state",
		"devin 755 /home/devin", "devin 755 /var/log/devin", "root 755 /var/lib/outpost-worker", got[8], "/home/devin",
		"cannot write", "cannot write", "0", got[len(got)-2], "0022"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSessionRunsAsANumberThatNoUserHas(t *testing.T) {
	t.Parallel()
	b := newBench(t, `id -u; id -g; id -G; echo "$USER $HOME"`)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	b.env["OUTPOST_USER"] = "4242"
	r := start(t, inJail(t, b.command()))
	r.expect(0)
	if diff := cmp.Diff([]string{"4242", "4242", "4242", "4242 " + b.work}, r.lines("remote")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLinksThatAnEarlierSessionLeftLeadNowhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"repos", ".outpost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "echo "+executed)
			delete(b.env, "OUTPOST_ALLOW_SAME_USER")
			victim := openDir(t)
			if err := os.MkdirAll(b.work, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, b.work+"/"+name); err != nil {
				t.Fatal(err)
			}
			r := start(t, inJail(t, b.command()))
			r.expect(16)
			info, err := os.Stat(victim)
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
				t.Errorf("the directory behind the link now belongs to user %d", owner)
			}
		})
	}
}

// The limits of the project's promise: small, quick to start, modest while it waits.
const (
	mostBytes    = 15 << 20
	mostStart    = 50 * time.Millisecond
	mostResident = 30 << 10 // KiB
)

func TestWorkerIsSmallAndQuickAndModest(t *testing.T) { // not parallel: it measures
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > mostBytes {
		t.Errorf("the binary has %d bytes, more than %d", info.Size(), mostBytes)
	}
	best := time.Duration(math.MaxInt64) // of several: what the machine does besides is not the worker's
	for range 10 {
		cmd := exec.Command(binary)
		cmd.Env = []string{}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		_ = cmd.Wait() // 10, for want of settings
	}
	if best > mostStart {
		t.Errorf("the first log line took %s at the best", best)
	}
	b := newBench(t, `echo ready; exec sleep 60`)
	r := b.start()
	r.awaitLine("ready")
	resident := residentKiB(t, r.cmd.Process.Pid)
	r.signal(syscall.SIGTERM)
	r.expect(30)
	if resident > mostResident {
		t.Errorf("the worker keeps %d KiB resident while the remote runs", resident)
	}
	t.Logf("%d bytes, first log line after %s, %d KiB resident", info.Size(), best, resident)
}

func residentKiB(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	var n int
	if _, err := fmt.Sscan(string(rest), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
