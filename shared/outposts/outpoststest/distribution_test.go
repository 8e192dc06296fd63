package outpoststest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

type file struct {
	code   int
	text   string
	broken bool
}

func (w world) file(t *testing.T, name string) file {
	t.Helper()
	response, err := http.Get(w.StaticURL() + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return file{response.StatusCode, string(text), err != nil}
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

func TestDistributionServesTheNewestAndThePinnedRemoteWithTheirChecksums(t *testing.T) {
	t.Parallel()
	w := start(t, outpoststest.Options{Binary: []byte("old")})
	old := strings.TrimSpace(w.file(t, "latest_linux_x64").text)
	w.Publish("412f0e9b19", []byte("new"))
	for name, want := range map[string]string{
		"latest_linux_arm64":                             "412f0e9b19\n",
		"latest_windows_x64.exe":                         "412f0e9b19\n",
		"devin-remote_412f0e9b19_linux_x64":              "new",
		"devin-remote_412f0e9b19_linux_x64.sha256":       sum("new"),
		"devin-remote_" + old + "_linux_arm64":           "old",
		"devin-remote_" + old + "_macos_arm64.sha256":    sum("old"),
		"devin-remote_412f0e9b19_windows_x64.exe":        "new",
		"devin-remote_412f0e9b19_windows_x64.exe.sha256": sum("new"),
	} {
		if got := w.file(t, name); got != (file{200, want, false}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range []string{"devin-remote_0000000_linux_x64", "latest_plan9", "devin-remote_412f0e9b19", "devin-remote__linux_x64", "412f0e9b19_linux_x64"} {
		if got := w.file(t, name); got.code != 404 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDistributionFaults(t *testing.T) {
	t.Parallel()
	const name = "devin-remote_412f0e9b19_linux_x64"
	for kind, check := range map[outpoststest.FaultKind]func(binary, checksum file) bool{
		outpoststest.FaultCorrupt:  func(b, c file) bool { return !b.broken && sum(b.text) != c.text && c.text == sum("the remote") },
		outpoststest.FaultChecksum: func(b, c file) bool { return b.text == "the remote" && len(c.text) == 64 && c.text != sum(b.text) },
		outpoststest.FaultHTML:     func(b, c file) bool { return b.code == 200 && strings.HasPrefix(b.text, "<!doctype html>") },
		outpoststest.FaultCut:      func(b, c file) bool { return b.code == 200 && b.broken && b.text == "the r" },
		outpoststest.FaultStatus:   func(b, c file) bool { return b.code == 503 && c.code == 503 },
	} {
		w := start(t, outpoststest.Options{})
		w.Publish("412f0e9b19", []byte("the remote"))
		w.Fault(outpoststest.Fault{Op: outpoststest.OpDistribution, Kind: kind})
		if binary, checksum := w.file(t, name), w.file(t, name+".sha256"); !check(binary, checksum) {
			t.Errorf("%s: %+v, %+v", kind, binary, checksum)
		}
	}
}
