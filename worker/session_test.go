package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSessionIsServedAndItsRemoteSeesOnlyWhatItMaySee(t *testing.T) {
	t.Parallel()
	b := newBench(t, `pwd; env | sort; id -u`)
	r := b.start()
	r.expect(0)
	var names []string
	lines := r.lines("remote")
	for _, line := range lines[1 : len(lines)-1] {
		name, _, _ := strings.Cut(line, "=")
		if name != "PWD" && name != "SHLVL" && name != "_" && name != "OLDPWD" && name != "DEVIN_CHROME_PATH" { // the shell's own, and the machine's
			names = append(names, name)
		}
	}
	want := []string{"DEVIN_OUTPOST_CONNECT_TOKEN", "DEVIN_OUTPOST_GATEWAY_URL", "DEVIN_OUTPOST_SESSION_ID", "DEVIN_REMOTE_STATE_DIR",
		"HOME", "LOGNAME", "PATH", "USER"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if lines[0] != b.work {
		t.Errorf("the remote runs in %s, want %s", lines[0], b.work)
	}
}
