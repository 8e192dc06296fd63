package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSessionIsServedAndItsRemoteSeesOnlyWhatItMaySee(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo "$0 $*" | sed s,.*/,,; pwd; env; echo; ls -A; ls -Ad "$DEVIN_REMOTE_STATE_DIR"`)
	b.env["HTTPS_PROXY"] = "http://somebody:proxy-password@proxy.example:3128"
	b.env["NO_PROXY"], b.env["LANG"], b.env["DEVIN_OUTPOST_DESKTOP"] = "localhost,127.0.0.1", "C.UTF-8", "true"
	b.env["ECS_CONTAINER_METADATA_URI_V4"], b.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI_OF"] = "http://169.254.170.2/v4/x", "x"
	b.env["LD_PRELOAD_OF"], b.env["SECRET"] = "x", "x"
	r := b.start()
	r.expect(0)
	state := filepath.Join(b.work, ".outpost", b.env["OUTPOST_SESSION_ID"], "state")
	suffix := map[string]string{"linux/amd64": "linux_x64", "linux/arm64": "linux_arm64", "darwin/arm64": "macos_arm64"}[runtime.GOOS+"/"+runtime.GOARCH]
	want := []string{
		"devin-remote_" + b.sha + "_" + suffix + " serve", b.work,
		"DEVIN_OUTPOST_CONNECT_TOKEN=[redacted]", "DEVIN_OUTPOST_DESKTOP=true", "DEVIN_OUTPOST_GATEWAY_URL=" + b.env["OUTPOST_GATEWAY_URL"],
		"DEVIN_OUTPOST_SESSION_ID=" + b.env["OUTPOST_SESSION_ID"], "DEVIN_REMOTE_STATE_DIR=" + state, "HOME",
		"HTTPS_PROXY=http://somebody:[redacted]@proxy.example:3128", "LANG=C.UTF-8", "LOGNAME", "NO_PROXY=localhost,127.0.0.1",
		"PATH=" + os.Getenv("PATH"), "USER", "", ".outpost", "repos", state,
	}
	var got []string
	for _, line := range r.lines("remote") {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "PWD", "OLDPWD", "SHLVL", "_", "DEVIN_CHROME_PATH": // the shell's own, and what depends on the machine
		case "HOME", "USER", "LOGNAME":
			got = append(got, name)
		default:
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("what the remote sees (-want +got):\n%s", diff)
	}
}

func TestCommandOfTheImageIsPreferredInModeAuto(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"auto": "command", "cli": "command", "remote": "remote"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `echo remote`)
			tools := openDir(t)
			put(t, filepath.Join(tools, "devin"), []byte("#!/bin/sh\necho command; echo \"$*\"; env | grep ^DEVIN_ | grep -v CHROME | sort\n"), 0o755)
			b.env["PATH"], b.env["OUTPOST_MODE"] = tools+":"+b.env["PATH"], mode
			r := b.start()
			r.expect(0)
			lines := r.lines("remote")
			if lines[0] != want {
				t.Fatalf("served by the %s, want the %s:\n%s", lines[0], want, r.text())
			}
			if want == "remote" {
				return
			}
			session := b.env["OUTPOST_SESSION_ID"]
			all := []string{"command", "worker start --session " + session, "DEVIN_OUTPOST_GATEWAY_URL=" + b.env["OUTPOST_GATEWAY_URL"],
				"DEVIN_REMOTE_SESSION_TOKEN=[redacted]", "DEVIN_REMOTE_STATE_DIR=" + filepath.Join(b.work, ".outpost", session, "state"),
				"DEVIN_WORKER_REMOTE_SHA=" + b.sha}
			if diff := cmp.Diff(all, lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewestRemoteServesASessionThatPinsNone(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo newest`)
	b.env["OUTPOST_REMOTE_SHA"], b.env["OUTPOST_MODE"] = "", "auto"
	r := b.start()
	r.expect(0)
	if diff := cmp.Diff([]string{"newest"}, r.lines("remote")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOddSessionIdNeverBecomesAPath(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"climbs": "devin-../../etc", "long": "devin-" + strings.Repeat("x", 300), "dots": ".."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `echo "$DEVIN_OUTPOST_SESSION_ID"; cd "$DEVIN_REMOTE_STATE_DIR" && pwd`)
			b.env["OUTPOST_SESSION_ID"] = id
			b.env["OUTPOST_CONNECT_TOKEN_CIPHERTEXT"] = vault.encrypt(t, b.token, "outpost_env-1", id)
			r := b.start()
			r.expect(0)
			lines := r.lines("remote")
			if lines[0] != id {
				t.Errorf("the remote was told to serve %q", lines[0])
			}
			inside, err := filepath.Match(filepath.Join(b.work, ".outpost", "session-*", "state"), lines[1])
			if err != nil || !inside {
				t.Errorf("the state is in %s", lines[1])
			}
		})
	}
}

func TestTaskRoleReachesTheSessionOnlyWhereTheUserAskedForIt(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string][]string{
		"false": nil,
		"true":  {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=[redacted]", "AWS_REGION=eu-central-1"},
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `env | grep ^AWS_ | sort`)
			b.env["OUTPOST_PASS_TASK_ROLE"] = asked
			b.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/an-id" // the static keys of the bench come first
			r := b.start()
			r.expect(0)
			if diff := cmp.Diff(want, r.lines("remote")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetUpScriptRunsFirstAndWithoutAnyToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo remote; cat made-by-setup`)
	script := filepath.Join(openDir(t), "setup.sh")
	put(t, script, []byte("#!/bin/sh\necho prepared > made-by-setup; env | grep -E 'DEVIN|TOKEN|AWS|OUTPOST'; echo done\n"), 0o755)
	b.env["OUTPOST_SETUP"] = script
	r := b.start()
	r.expect(0)
	if diff := cmp.Diff([][]string{{"done"}, {"remote", "prepared"}}, [][]string{r.lines("setup"), r.lines("remote")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTokenSplitAcrossWritesIsRedacted(t *testing.T) {
	t.Parallel()
	b := newBench(t, `t=$DEVIN_OUTPOST_CONNECT_TOKEN; rest=${t#connect-}
printf 'a connect-'; sleep 0.1; printf '%s b\n' "$rest"; printf 'cog_0123'; sleep 0.1; printf '456789abcdef\n' >&1; echo "$t" >&2`)
	r := b.start()
	r.expect(0)
	if diff := cmp.Diff([]string{"a [redacted] b", "[redacted]", "[redacted]"}, sortedTail(r.lines("remote"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(r.text(), b.token) || strings.Contains(r.text(), "456789abcdef") {
		t.Errorf("a token is in the log:\n%s", r.text())
	}
}

// sortedTail leaves the order of the two streams aside, of which neither waits for the other.
func sortedTail(lines []string) []string {
	sorted := sorted(lines)
	return append(sorted[len(sorted)-1:], sorted[:len(sorted)-1]...)
}

func TestLastLineTellsHowTheSessionWentAndWhatItTook(t *testing.T) {
	t.Parallel()
	b := newBench(t, `exit 7`)
	r := b.start()
	r.expect(20)
	last := r.log[len(r.log)-1]
	for _, phase := range []string{"decrypt_ms", "ready_ms", "download_ms", "setup_ms", "start_ms", "serve_ms", "peak_memory_bytes"} {
		if n, ok := last[phase].(float64); !ok || n < 0 {
			t.Errorf("%s is %v", phase, last[phase])
		}
	}
	got := []any{last["msg"], last["level"], last["exit_code"], last["reason"], last["session_id"], last["attempt"]}
	want := []any{"session ended", "ERROR", 20.0, "the remote failed: exit code 7", b.env["OUTPOST_SESSION_ID"], "attempt-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
