package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	commit = "abcdef0123"
	build  = "linux_x64"
	name   = "devin-remote_" + commit + "_" + build
)

// mirror is a distribution whose answers a test can bend; it counts what it is asked.
type mirror struct {
	remote []byte
	sum    string
	bend   func(w http.ResponseWriter, r *http.Request, nth int) (done bool) // nth request of that path, from 1
	asked  []string
	counts map[string]int
}

func newMirror() *mirror {
	remote := []byte("#!/bin/sh\n" + strings.Repeat("# a remote\n", 20000))
	sum := sha256.Sum256(remote)
	return &mirror{remote: remote, sum: hex.EncodeToString(sum[:]), counts: map[string]int{}}
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	m.counts[path]++
	m.asked = append(m.asked, strings.TrimSpace(path+" "+r.Header.Get("Range")))
	if m.bend != nil && m.bend(w, r, m.counts[path]) {
		return
	}
	switch path {
	case "latest_" + build:
		fmt.Fprintln(w, commit)
	case name + ".sha256":
		fmt.Fprintln(w, m.sum+"  "+name)
	case name:
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(m.remote)))
	default:
		http.NotFound(w, r)
	}
}

// from gives the distribution of m, whose pauses take no time.
func from(t *testing.T, m *mirror) (d Distribution, pauses *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	pauses = &[]time.Duration{}
	return Distribution{Base: server.URL, Client: NewClient(), Log: slog.New(slog.DiscardHandler), MaxBytes: 1 << 20,
		Wait: func(ctx context.Context, d time.Duration) error { *pauses = append(*pauses, d); return ctx.Err() }}, pauses
}

// expectOnly fails unless dir holds just the remote, whole and executable.
func expectOnly(t *testing.T, dir string, m *mirror) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || len(entries) != 1 || string(text) != string(m.remote) {
		t.Fatalf("%v, %d bytes of the remote: %v", entries, len(text), err)
	}
	if info, _ := entries[0].Info(); info.Mode() != 0o755 {
		t.Errorf("its mode is %s", info.Mode())
	}
}

func expectNothing(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestPinnedAndNewestBuildAreFetchedAndCheckedAndCached(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	d, _ := from(t, m)
	for _, want := range []string{"", strings.ToUpper(commit)} {
		path, err := d.Remote(t.Context(), want, build, dir)
		if err != nil || path != filepath.Join(dir, name) {
			t.Fatalf("%q: %s %v", want, path, err)
		}
		expectOnly(t, dir, m)
	}
	want := []string{"latest_" + build, name + ".sha256", name, name + ".sha256"} // the second time from the cache
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAlteredCopyInTheCacheIsReplaced(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	d, _ := from(t, m)
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Remote(t.Context(), commit, build, dir); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, dir, m)
}

func TestDownloadThatIsCutGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	m.bend = func(w http.ResponseWriter, r *http.Request, nth int) bool {
		if r.URL.Path != "/"+name || nth > 1 {
			return false
		}
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(m.remote)))
		_, _ = w.Write(m.remote[:100000])
		return true // the server closes the connection, for it promised more
	}
	d, pauses := from(t, m)
	if _, err := d.Remote(t.Context(), commit, build, dir); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, dir, m)
	want := []string{name + ".sha256", name, name + " bytes=100000-"}
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(*pauses) != 1 {
		t.Errorf("pauses: %v", *pauses)
	}
}

func TestDownloadOfAFileThatChangedMeanwhileStartsAgain(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	m.bend = func(w http.ResponseWriter, r *http.Request, nth int) bool {
		if r.URL.Path != "/"+name || nth > 1 {
			return false
		}
		w.Header().Set("ETag", `"older"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(m.remote)))
		_, _ = w.Write([]byte(strings.Repeat("x", 5000)))
		return true
	}
	d, _ := from(t, m)
	if _, err := d.Remote(t.Context(), commit, build, dir); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, dir, m)
}

func TestPausesBetweenTriesGrowAndEnd(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	m.bend = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	d, pauses := from(t, m)
	_, err := d.Remote(t.Context(), commit, build, dir)
	if err == nil || !strings.Contains(err.Error(), "503") || len(m.asked) != tries || len(*pauses) != tries-1 {
		t.Fatalf("%v after %d requests and the pauses %v", err, len(m.asked), *pauses)
	}
	for i, pause := range *pauses {
		least := 500 * time.Millisecond << i
		if pause < least || pause >= 2*least {
			t.Errorf("pause %d is %s, want one from %s to %s", i, pause, least, 2*least)
		}
	}
	expectNothing(t, dir)
}

func TestWhatIsNoRemoteIsNeverGivenItsName(t *testing.T) {
	t.Parallel()
	page := "\n<!DOCTYPE html><html>Sign in</html>"
	pageSum := sha256.Sum256([]byte(page))
	for what, one := range map[string]struct {
		bend func(*mirror, http.ResponseWriter, *http.Request) bool
		want string
	}{
		"a page with its content type": {func(_ *mirror, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, page)
			return true
		}, "answered a web page"},
		"a page under another type, with a checksum of its own": {func(m *mirror, w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, ".sha256") {
				fmt.Fprintln(w, hex.EncodeToString(pageSum[:]))
				return true
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprint(w, page)
			return true
		}, "answered a web page"},
		"a checksum that is none": {func(m *mirror, w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprintln(w, "d41d8cd98f00b204e9800998ecf8427e")
			return strings.HasSuffix(r.URL.Path, ".sha256")
		}, "a SHA-256 checksum was expected"},
		"too large, and says so": {func(m *mirror, w http.ResponseWriter, r *http.Request) bool {
			m.remote = make([]byte, 1<<20+1)
			return false
		}, "is larger than"},
		"too large, and does not say so": {func(m *mirror, w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, ".sha256") {
				return false
			}
			for range 200 {
				if _, err := w.Write(make([]byte, 8<<10)); err != nil {
					break
				}
				w.(http.Flusher).Flush()
			}
			return true
		}, "is larger than"},
		"gone": {func(m *mirror, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, "no such build"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m, dir := newMirror(), t.TempDir()
			m.bend = func(w http.ResponseWriter, r *http.Request, _ int) bool { return one.bend(m, w, r) }
			d, pauses := from(t, m)
			_, err := d.Remote(t.Context(), commit, build, dir)
			if err == nil || !strings.Contains(err.Error(), one.want) || errors.Is(err, ErrMismatch) {
				t.Errorf("%v, want %q in it", err, one.want)
			}
			if len(*pauses) > 0 {
				t.Errorf("it was tried again after %v", *pauses)
			}
			expectNothing(t, dir)
		})
	}
}

func TestMismatchIsTriedOnceMoreAndThenBelieved(t *testing.T) {
	t.Parallel()
	for _, spoiled := range []int{1, 2} {
		m, dir := newMirror(), t.TempDir()
		m.bend = func(w http.ResponseWriter, r *http.Request, nth int) bool {
			if r.URL.Path == "/"+name && nth <= spoiled {
				fmt.Fprint(w, "#!/bin/sh\necho evil")
				return true
			}
			return false
		}
		d, _ := from(t, m)
		_, err := d.Remote(t.Context(), commit, build, dir)
		if mismatch := errors.Is(err, ErrMismatch); mismatch != (spoiled == 2) || (err != nil) != mismatch {
			t.Errorf("spoiled %d times: %v", spoiled, err)
		}
		if spoiled == 2 {
			expectNothing(t, dir)
		} else {
			expectOnly(t, dir, m)
		}
	}
}

func TestRedirectAwayFromTLSIsRefused(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	m.bend = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, "http://mirror.invalid"+r.URL.Path, http.StatusFound)
		return true
	}
	d, _ := from(t, m)
	if _, err := d.Remote(t.Context(), commit, build, dir); err == nil || !strings.Contains(err.Error(), "which is not https") {
		t.Errorf("%v", err)
	}
}

func TestStopEndsADownload(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(), t.TempDir()
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	m.bend = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.URL.Path != "/"+name {
			return false
		}
		_, _ = w.Write(m.remote[:1000])
		w.(http.Flusher).Flush()
		cancel(stop)
		<-r.Context().Done()
		return true
	}
	d, _ := from(t, m)
	if _, err := d.Remote(ctx, commit, build, dir); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	expectNothing(t, dir)
}

func TestEachMachineGetsItsBuild(t *testing.T) {
	t.Parallel()
	var got []string
	for _, machine := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64", "windows/amd64"} {
		os, arch, _ := strings.Cut(machine, "/")
		suffix, err := Suffix(os, arch)
		if err != nil {
			suffix = "none"
		}
		got = append(got, suffix)
	}
	if want := []string{"linux_x64", "linux_arm64", "macos_arm64", "none", "none"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
