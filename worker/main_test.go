package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/sivchari/kumo"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/fetch"
)

// What all tests share: the built binary, and a KMS.
var (
	binary string
	vault  *kmsVault
)

func TestMain(m *testing.M) {
	if role := os.Getenv("OUTPOST_TEST_ROLE"); role != "" {
		os.Exit(play(role))
	}
	os.Exit(withShared(m.Run))
}

func withShared(run func() int) int {
	dir, err := os.MkdirTemp("", "worker-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // workers of other users execute it
		panic(err)
	}
	binary = filepath.Join(dir, "outpost-worker")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=test", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the worker: %v\n%s", err, out))
	}
	vault = openVault()
	defer vault.close()
	return run()
}

// readSources opens what the binary is built from, so that the go command, which caches a result by the files the tests
// opened, knows that the result depends on them.
var readSources = sync.OnceValue(func() error {
	return filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.ReadFile(path)
		}
		return err
	})
})

// kmsVault is kumo's KMS behind a proxy that binds encryption contexts, which kumo does not.
type kmsVault struct {
	server   *kumo.Server
	front    *httptest.Server
	client   *kms.Client
	key      string
	mu       sync.Mutex
	contexts map[string]map[string]string // by ciphertext, base64
}

func openVault() *kmsVault {
	v := &kmsVault{server: kumo.NewServer(), contexts: map[string]map[string]string{}}
	target, _ := url.Parse(v.server.URL)
	proxy := httputil.NewSingleHostReverseProxy(target)
	v.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var call struct {
			CiphertextBlob    string
			EncryptionContext map[string]string
		}
		_ = json.Unmarshal(body, &call)
		v.mu.Lock()
		bound, known := v.contexts[call.CiphertextBlob]
		v.mu.Unlock()
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Decrypt") && known && fmt.Sprint(bound) != fmt.Sprint(call.EncryptionContext) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"InvalidCiphertextException"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	v.client = kms.New(kms.Options{BaseEndpoint: aws.String(v.front.URL), Region: "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	key, err := v.client.CreateKey(context.Background(), &kms.CreateKeyInput{})
	if err != nil {
		panic(err)
	}
	v.key = *key.KeyMetadata.KeyId
	return v
}

func (v *kmsVault) close() { v.front.Close(); v.server.Close() }

// encrypt gives the ciphertext of token for a session of an outpost, as the orchestrator does.
func (v *kmsVault) encrypt(t testing.TB, token, outpost, session string) string {
	t.Helper()
	bound := map[string]string{"outpost_id": outpost, "session_id": session}
	sealed, err := v.client.Encrypt(t.Context(), &kms.EncryptInput{KeyId: &v.key, Plaintext: []byte(token), EncryptionContext: bound})
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(sealed.CiphertextBlob)
	v.mu.Lock()
	v.contexts[text] = bound
	v.mu.Unlock()
	return text
}

// bench is one worker under test: its environment, its distribution and its gateway.
type bench struct {
	t       testing.TB
	env     map[string]string
	work    string
	token   string
	sha     string
	remotes map[string][]byte // of the distribution, by path
	mu      sync.Mutex
}

const commitUnderTest = "0123456789ab"

// newBench prepares a worker whose remote is a shell script; it runs as the tests' own user.
func newBench(t testing.TB, script string) *bench {
	t.Helper()
	if err := readSources(); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, work: filepath.Join(openDir(t), "work"), token: "connect-token-of-" + hex.EncodeToString([]byte(t.Name())), sha: commitUnderTest, remotes: map[string][]byte{}}
	b.offer([]byte("#!/bin/sh\n" + script + "\n"))
	static := httptest.NewServer(http.HandlerFunc(b.serveFile))
	t.Cleanup(static.Close)
	gateway, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gateway.Close() })
	session := "devin-" + hex.EncodeToString([]byte(t.Name()))[:12]
	b.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"),
		"AWS_ENDPOINT_URL": vault.front.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "the-aws-secret-key",
		"OUTPOST_ID": "outpost_env-1", "OUTPOST_SESSION_ID": session, "OUTPOST_ATTEMPT_ID": "attempt-1",
		"OUTPOST_GATEWAY_URL":              "ws://" + gateway.Addr().String() + "/worker",
		"OUTPOST_CONNECT_TOKEN_CIPHERTEXT": vault.encrypt(t, b.token, "outpost_env-1", session),
		"OUTPOST_REMOTE_SHA":               b.sha, "OUTPOST_MODE": "remote", "OUTPOST_WORKDIR": b.work, "OUTPOST_STATIC_URL": static.URL,
		"OUTPOST_STOP_SECONDS": "5", "OUTPOST_ALLOW_SAME_USER": "true",
	}
	return b
}

// openDir makes a directory that every user may enter, unlike t.TempDir's.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "worker-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// offer puts a remote into the distribution, with its checksum.
func (b *bench) offer(remote []byte) {
	sum := sha256.Sum256(remote)
	b.mu.Lock()
	defer b.mu.Unlock()
	name := b.remotePath()
	b.remotes[name] = remote
	b.remotes[name+".sha256"] = []byte(hex.EncodeToString(sum[:]) + "  devin-remote\n")
	b.remotes["/latest_"+strings.TrimPrefix(name, "/devin-remote_"+b.sha+"_")] = []byte(b.sha + "\n")
}

// remotePath is the path of the remote in the distribution.
func (b *bench) remotePath() string {
	suffix, err := fetch.Suffix(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		b.t.Skip(err) // no build of the remote exists for such a machine
	}
	return "/devin-remote_" + b.sha + "_" + suffix
}

func (b *bench) serveFile(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	text, ok := b.remotes[r.URL.Path]
	b.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (b *bench) environ() []string {
	var pairs []string
	for name, value := range b.env {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}

// record is a line of the worker's log.
type record map[string]any

// run is a worker that was started.
type run struct {
	t    testing.TB
	cmd  *exec.Cmd
	mu   sync.Mutex
	cond *sync.Cond
	log  []record
	raw  bytes.Buffer
	end  bool
}

func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = b.environ()
	cmd.Dir = "/"
	return cmd
}

// start starts the worker.
func (b *bench) start() *run { return start(b.t, b.command()) }

func start(t testing.TB, cmd *exec.Cmd) *run {
	t.Helper()
	r := &run{t: t, cmd: cmd}
	r.cond = sync.NewCond(&r.mu)
	cmd.Stdout = r
	cmd.Stderr = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test failed before it ended
			_ = cmd.Process.Kill()
		}
	})
	return r
}

// Write takes the worker's output.
func (r *run) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(text)
	r.log = nil
	for line := range bytes.Lines(r.raw.Bytes()) {
		var one record
		if json.Unmarshal(line, &one) == nil {
			r.log = append(r.log, one)
		}
	}
	r.cond.Broadcast()
	return len(text), nil
}

// await waits for a line of the log that fits.
func (r *run) await(fits func(record) bool) record {
	r.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { r.mu.Lock(); r.end = true; r.mu.Unlock(); r.cond.Broadcast() })
	defer late.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for _, one := range r.log {
			if fits(one) {
				return one
			}
		}
		if r.end {
			r.t.Fatalf("the expected line did not come:\n%s", r.raw.String())
		}
		r.cond.Wait()
	}
}

// awaitLine waits for a line of the remote's own output.
func (r *run) awaitLine(line string) {
	r.t.Helper()
	r.await(func(one record) bool { return one["line"] == line })
}

// wait waits for the worker's end and gives its exit code.
func (r *run) wait() int {
	r.t.Helper()
	late := time.AfterFunc(60*time.Second, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	_ = r.cmd.Wait()
	r.mu.Lock()
	r.end = true
	r.mu.Unlock()
	return r.cmd.ProcessState.ExitCode()
}

// text is everything the worker wrote; it may be read once the worker has ended.
func (r *run) text() string { return r.raw.String() }

// lines are those of one process of the session.
func (r *run) lines(process string) []string {
	var lines []string
	for _, one := range r.log {
		if one["process"] == process && one["msg"] == "output" {
			lines = append(lines, one["line"].(string))
		}
	}
	return lines
}

func (r *run) expect(code int) {
	r.t.Helper()
	if got := r.wait(); got != code {
		r.t.Fatalf("exit code %d, want %d:\n%s", got, code, r.text())
	}
}
