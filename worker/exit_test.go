package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// executed is what a remote prints that must never have been executed.
const executed = "it was executed"

func TestEachFailureHasItsExitCode(t *testing.T) {
	t.Parallel()
	elsewhere := func(b *bench) { b.env["OUTPOST_STATIC_URL"] += "/elsewhere" }
	for name, one := range map[string]struct {
		script string
		change func(*bench)
		code   int
		reason string // part of the last line's
	}{
		"setting missing":          {change: func(b *bench) { delete(b.env, "OUTPOST_GATEWAY_URL") }, code: 10, reason: "see the lines above"},
		"setting malformed":        {change: func(b *bench) { b.env["OUTPOST_STOP_SECONDS"] = "soon" }, code: 10, reason: "see the lines above"},
		"ciphertext of another":    {change: func(b *bench) { b.env["OUTPOST_ID"] = "outpost_env-2" }, code: 11, reason: "not for this outpost and session"},
		"token of nothing":         {change: func(b *bench) { b.reseal("two words") }, code: 11, reason: "what KMS gave is no token"},
		"build unknown":            {change: func(b *bench) { b.env["OUTPOST_REMOTE_SHA"] = "feedbeef" }, code: 12, reason: "no such build"},
		"distribution elsewhere":   {change: elsewhere, code: 12, reason: "no such build"},
		"web page for a remote":    {change: func(b *bench) { b.offer([]byte("<!DOCTYPE html><title>Sign in</title>")) }, code: 12, reason: "answered a web page"},
		"web page for a checksum":  {change: func(b *bench) { b.spoil(".sha256", "<html>") }, code: 12, reason: "a SHA-256 checksum was expected"},
		"remote altered":           {change: func(b *bench) { b.spoil("_", "#!/bin/sh\necho "+executed) }, code: 13, reason: "the checksum does not match"},
		"remote no program":        {change: func(b *bench) { b.offer([]byte("\x7fELF, but not really")) }, code: 14, reason: "exec format error"},
		"no devin command":         {change: func(b *bench) { b.env["OUTPOST_MODE"] = "cli" }, code: 14, reason: "no devin command"},
		"set-up script fails":      {change: func(b *bench) { b.setUp("echo " + "sorry" + "; exit 4") }, code: 15, reason: "exit code 4"},
		"set-up script missing":    {change: func(b *bench) { b.env["OUTPOST_SETUP"] = "/nowhere/setup.sh" }, code: 15, reason: "no such file"},
		"no git":                   {change: func(b *bench) { b.env["PATH"] = "/nowhere" }, code: 16, reason: "install git in the image"},
		"gateway silent":           {change: func(b *bench) { b.env["OUTPOST_GATEWAY_URL"] = "ws://127.0.0.1:1/" }, code: 16, reason: "cannot reach 127.0.0.1:1"},
		"gateway has no name":      {change: func(b *bench) { b.env["OUTPOST_GATEWAY_URL"] = "wss://gateway.invalid/" }, code: 16, reason: "gateway.invalid"},
		"workspace is a file":      {change: func(b *bench) { b.env["OUTPOST_WORKDIR"] = os.Args[0] }, code: 16, reason: "make the workspace"},
		"remote fails":             {script: "exit 3", code: 20, reason: "exit code 3"},
		"remote killed":            {script: "kill -9 $$", code: 20, reason: "killed by signal 9"},
		"deadline passed":          {change: func(b *bench) { b.env["OUTPOST_DEADLINE"] = "2020-01-01T00:00:00Z" }, code: 30, reason: "deadline has come"},
		"deadline during the life": {script: "exec sleep 60", change: func(b *bench) { b.deadlineIn(2 * time.Second) }, code: 30, reason: "deadline has come"},
		"deadline during set-up":   {change: func(b *bench) { b.setUp("exec sleep 60"); b.deadlineIn(2 * time.Second) }, code: 30, reason: "deadline has come"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := one.script
			if script == "" {
				script = "echo " + executed
			}
			b := newBench(t, script)
			if one.change != nil {
				one.change(b)
			}
			r := b.start()
			r.expect(one.code)
			last := r.log[len(r.log)-1]
			reason, _ := last["reason"].(string)
			if last["msg"] != "session ended" || last["exit_code"] != float64(one.code) || !strings.Contains(reason, one.reason) {
				t.Errorf("the last line is %v, want %q in it", last, one.reason)
			}
			if slices.Contains(r.lines("remote"), executed) {
				t.Error("the remote was executed all the same")
			}
		})
	}
}

// reseal gives the worker another token.
func (b *bench) reseal(token string) {
	b.token = token
	b.env["OUTPOST_CONNECT_TOKEN_CIPHERTEXT"] = vault.encrypt(b.t, token, b.env["OUTPOST_ID"], b.env["OUTPOST_SESSION_ID"])
}

// spoil replaces what the distribution offers under names with that ending.
func (b *bench) spoil(ending, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.remotes {
		if strings.HasSuffix(name, ending) || ending == "_" && !strings.HasSuffix(name, ".sha256") && strings.HasPrefix(name, "/devin-remote_") {
			b.remotes[name] = []byte(text)
		}
	}
}

func (b *bench) setUp(script string) {
	path := filepath.Join(openDir(b.t), "setup.sh")
	put(b.t, path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)
	b.env["OUTPOST_SETUP"] = path
}

func (b *bench) deadlineIn(d time.Duration) {
	b.env["OUTPOST_DEADLINE"] = time.Now().Add(d).UTC().Format(time.RFC3339)
}

func put(t testing.TB, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func TestEveryBadSettingIsToldAtOnceAndNoSecretIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo "+executed)
	delete(b.env, "AWS_REGION")
	b.env["OUTPOST_CONNECT_TOKEN_CIPHERTEXT"] = "connect-token-in-the-clear!"
	b.env["OUTPOST_GATEWAY_URL"] = "ws://gateway.example/?token=abc"
	b.env["OUTPOST_STATIC_URL"] = "http://mirror.example"
	b.env["OUTPOST_USER"] = "root"
	r := b.start()
	r.expect(10)
	var got []string
	for _, one := range r.log {
		if one["msg"] == "bad setting" {
			got = append(got, one["error"].(string))
		}
	}
	want := []string{
		`OUTPOST_GATEWAY_URL is "ws://gateway.example/?…": must be a wss:// URL with a host (ws:// is for loopback only)`,
		`OUTPOST_CONNECT_TOKEN_CIPHERTEXT is (not shown): must be base64 of what KMS encrypted`,
		`AWS_REGION is not set: the orchestrator or the task definition must set it`,
		`OUTPOST_USER is "root": must not be root: the session runs as an ordinary user`,
		`OUTPOST_STATIC_URL is "http://mirror.example": must be an https:// URL without query or password (http:// is for loopback only)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(r.text(), "in-the-clear") {
		t.Errorf("the value of a secret is in the log:\n%s", r.text())
	}
}

func TestOrdinaryUserIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "echo "+executed)
	delete(b.env, "OUTPOST_ALLOW_SAME_USER")
	cmd := b.command()
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	r := start(t, cmd)
	r.expect(10)
	if last := r.log[len(r.log)-1]; !strings.Contains(last["reason"].(string), "must be started as root") {
		t.Errorf("the last line is %v", last)
	}
}
