package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hunt and report are those of testdata/hostile.
type hunt struct {
	Secrets   map[string]string
	Folders   []string
	Endpoints []string
	Report    string
	Host      int
}

type report struct {
	Found       map[string][]string
	Environment []string
	Descriptors []string
	Status      map[string]string
	Attach      string
	Signal      string
	UID         int
	CoreLimit   uint64
}

var hostileProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "hostile"), "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the hostile remote: %w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "hostile"))
})

// newHostileBench prepares a worker whose remote is hostile, and whose AWS credentials come from an endpoint, as on ECS.
func newHostileBench(t *testing.T) *bench {
	t.Helper()
	program, err := hostileProgram()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "")
	b.offer(program)
	const path, secretKey = "/v2/credentials/8f3d0a52-the-credential-id", "the-key-of-the-task-role"
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"AccessKeyId":"ASIA","SecretAccessKey":%q,"Token":"the-session-of-the-task-role","Expiration":"2100-01-01T00:00:00Z"}`, secretKey)
	}))
	t.Cleanup(endpoint.Close)
	delete(b.env, "AWS_ACCESS_KEY_ID")
	delete(b.env, "AWS_SECRET_ACCESS_KEY")
	b.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = endpoint.URL + path
	b.env["ECS_CONTAINER_METADATA_URI_V4"] = "http://169.254.170.2/v4/the-metadata-id"
	b.env["COG_LEFT_BEHIND"] = "cog_left_in_the_image"

	if err := os.MkdirAll(b.work, 0o755); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{
		"connect token": b.token, "ciphertext": b.env["OUTPOST_CONNECT_TOKEN_CIPHERTEXT"], "credential path": path, "role key": secretKey,
		"metadata": "the-metadata-id", "account token": "cog_left_in_the_image", "descriptor": "left-open-by-the-host", "decoy": "a-decoy-to-be-found",
	}
	for name, secret := range secrets {
		letters := []byte(secret)
		slices.Reverse(letters)
		secrets[name] = string(letters)
	}
	text, err := json.Marshal(hunt{Secrets: secrets, Folders: []string{b.work, "/var/lib/outpost-worker", "/var/log/devin", "/home", "/run"},
		Endpoints: []string{strings.TrimPrefix(endpoint.URL, "http://")}, Report: "report.json", Host: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(b.work, "hunt.json"), text, 0o644)
	put(t, filepath.Join(b.work, "become-root"), program, 0o755)
	return b
}

// withOpenDescriptor leaves cmd a descriptor with a secret behind it.
func withOpenDescriptor(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "left-open")
	put(t, path, []byte("left-open-by-the-host"), 0o600)
	left, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { left.Close() })
	cmd.ExtraFiles = append(cmd.ExtraFiles, left)
	return cmd
}

func readReport(t *testing.T, path string) report {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// onlyItsOwn is all that a session may find: its connect token where it belongs, and the decoy, which shows that it looked.
var onlyItsOwn = map[string][]string{
	"connect token": {"own environment"},
	"decoy":         {"the decoy's environ", "the decoy's memory"},
}

var sessionEnvironment = []string{"DEVIN_OUTPOST_CONNECT_TOKEN", "DEVIN_OUTPOST_GATEWAY_URL", "DEVIN_OUTPOST_SESSION_ID", "DEVIN_REMOTE_STATE_DIR",
	"HOME", "LOGNAME", "PATH", "USER"}

func withoutChrome(names []string) []string { // the machine may have one
	return slices.DeleteFunc(names, func(name string) bool { return name == "DEVIN_CHROME_PATH" })
}

func TestHostileSessionFindsOnlyItsOwnToken(t *testing.T) {
	t.Parallel()
	b := newHostileBench(t)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	put(t, filepath.Join(b.work, "become-root"), must(os.ReadFile(filepath.Join(b.work, "become-root"))), 0o755|os.ModeSetuid)
	run := start(t, withOpenDescriptor(t, inJail(t, b.command())))
	run.expect(0)
	r := readReport(t, filepath.Join(b.work, "report.json"))
	if diff := cmp.Diff(onlyItsOwn, r.Found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sessionEnvironment, withoutChrome(r.Environment)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	got := map[string]string{"descriptors": fmt.Sprint(r.Descriptors), "attach": r.Attach, "signal": r.Signal, "core": fmt.Sprint(r.CoreLimit)}
	for _, name := range []string{"Uid", "Groups", "NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		got[name] = r.Status[name]
	}
	want := map[string]string{"descriptors": "[]", "attach": "operation not permitted", "signal": "operation not permitted", "core": "0",
		"Uid": "1000\t1000\t1000\t1000", "Groups": "44 1000", "NoNewPrivs": "1", "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("privileges (-want +got):\n%s", diff)
	}
	if r := readReport(t, filepath.Join(b.work, "root", "root.json")); r.UID != 1000 {
		t.Errorf("a set-user-id program made the session user %d", r.UID)
	}
	for name, secret := range map[string]string{"connect token": b.token, "credential path": "8f3d0a52-the-credential-id"} {
		if strings.Contains(run.text(), secret) {
			t.Errorf("the %s is in the log:\n%s", name, run.text())
		}
	}
}

const none = "0000000000000000"

func TestHostileSessionWithSudoBecomesRootAndStillFindsNothing(t *testing.T) {
	t.Parallel()
	b := newHostileBench(t)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	b.env["OUTPOST_ALLOW_SUDO"] = "true"
	put(t, filepath.Join(b.work, "become-root"), must(os.ReadFile(filepath.Join(b.work, "become-root"))), 0o755|os.ModeSetuid)
	start(t, withOpenDescriptor(t, inJail(t, b.command()))).expect(0)
	r := readReport(t, filepath.Join(b.work, "root", "root.json"))
	if r.UID != 0 {
		t.Fatalf("the set-user-id program made the session user %d, want root", r.UID)
	}
	// As root it may look at what its own session's processes hold, but not at the worker.
	want := map[string][]string{"decoy": {"the decoy's environ", "the decoy's memory"}}
	if diff := cmp.Diff(want, r.Found); diff != "" {
		t.Errorf("found as root (-want +got):\n%s", diff)
	}
	if r.Attach != "operation not permitted" {
		t.Errorf("attaching to the parent as root: %s", r.Attach)
	}
}

func TestHostileSessionUnderTheWorkersOwnUserFindsOnlyItsOwnToken(t *testing.T) {
	t.Parallel()
	b := newHostileBench(t)
	cmd := withOpenDescriptor(t, b.command())
	if os.Geteuid() == 0 { // be somebody else, for root may read everything here
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chown(b.work, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	start(t, cmd).expect(0)
	r := readReport(t, filepath.Join(b.work, "report.json"))
	if diff := cmp.Diff(onlyItsOwn, r.Found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sessionEnvironment, withoutChrome(r.Environment)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if len(r.Descriptors) > 0 || r.Attach != "operation not permitted" || r.Status["NoNewPrivs"] != "1" {
		t.Errorf("descriptors %v, attach: %s, no_new_privs %s", r.Descriptors, r.Attach, r.Status["NoNewPrivs"])
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
