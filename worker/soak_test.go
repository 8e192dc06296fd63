package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// BenchmarkSoak starts and ends 200 workers, one after the other, for each iteration: half of their sessions end by
// themselves, half are stopped. It fails if a process, a file outside their directories, or memory stays behind. Run it
// once: go test -run '^$' -bench Soak -benchtime 1x ./worker
func BenchmarkSoak(b *testing.B) {
	const workers = 200
	one := newBench(b, `mkdir -p repos/one && echo work > repos/one/file; sleep 300 & echo ready; [ -e "$PWD/stop" ] || exit 0; wait`)
	scratch := openDir(b)
	one.env["TMPDIR"], one.env["HOME"] = scratch, scratch
	var processes, resident []int
	for range b.N {
		for i := range workers {
			stopped := i%2 == 1
			mark(b, filepath.Join(one.work, "stop"), stopped)
			r := one.start()
			r.awaitLine("ready")
			if stopped {
				if runtime.GOOS == "linux" {
					resident = append(resident, residentKiB(b, r.cmd.Process.Pid))
				}
				_ = r.cmd.Process.Signal(os.Interrupt)
				r.expect(30)
			} else {
				r.expect(0)
			}
			if i == 0 || i == workers-1 {
				processes = append(processes, len(sessionProcesses(b, one.work)))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*workers), "ms/worker")
	for _, n := range processes {
		if n > 0 {
			b.Errorf("%d processes of ended sessions are still there", n)
		}
	}
	if left := filesIn(b, scratch); len(left) > 0 {
		b.Errorf("left outside their directories: %v", left)
	}
	suffix := filepath.Base(one.remotePath())
	session := one.env["OUTPOST_SESSION_ID"]
	want := []string{".", ".outpost", ".outpost/" + session, ".outpost/" + session + "/state", ".outpost/remote", ".outpost/remote/" + suffix,
		"repos", "repos/one", "repos/one/file", "stop"}
	if diff := cmp.Diff(want, append([]string{"."}, filesIn(b, one.work)...)); diff != "" {
		b.Errorf("files in the workspace (-want +got):\n%s", diff)
	}
	if n := len(resident); n > 0 {
		b.ReportMetric(float64(resident[n-1]), "KiB-resident")
		if first, last := resident[0], resident[n-1]; last > 2*first {
			b.Errorf("workers grew from %d to %d KiB", first, last)
		}
	}
}

// mark makes or removes a file.
func mark(t testing.TB, path string, there bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if there {
		put(t, path, nil, 0o644)
	} else if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// sessionProcesses lists the processes whose current directory is dir (none outside Linux, where that cannot be seen).
func sessionProcesses(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, link := range all {
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			there = append(there, link)
		}
	}
	return there
}

// filesIn lists everything below dir.
func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
