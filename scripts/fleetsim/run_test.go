package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

func parse(t *testing.T, arguments ...string) (settings, error) {
	t.Helper()
	var parsed settings
	parser, err := kong.New(&parsed, kong.Vars{"token": defaultToken, "outpost": defaultOutpost})
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(arguments)
	return parsed, err
}

// start runs fleetsim until the test ends and returns what it says of itself.
func start(t *testing.T, arguments ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "devin-remote")
	if err := os.WriteFile(binary, []byte("the remote"), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, err := parse(t, append(arguments, "--remote", binary, "--addr", "127.0.0.1:0")...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, parsed, time.Now, writer, io.Discard)
		_ = writer.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	said := make([]byte, 4096)
	n, err := reader.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(said[:n])
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestWhatItSaysOfItselfIsTrue(t *testing.T) {
	t.Parallel()
	said := start(t, "--enqueue", "2", "--outpost", "outpost_env-a", "--outpost", "outpost_env-b")
	api := regexp.MustCompile(`DEVIN_API_URL=(\S+)`).FindStringSubmatch(said)[1]
	static := regexp.MustCompile(`OUTPOST_STATIC_URL=(\S+)`).FindStringSubmatch(said)[1]
	if code, body := get(t, api+"/opbeta/outposts/devins?outpost=outpost_env-a", defaultToken); code != 200 || !strings.Contains(body, `"total":2`) {
		t.Errorf("%d %s", code, body)
	}
	_, sha := get(t, static+"/latest_linux_x64", "")
	if code, body := get(t, static+"/devin-remote_"+strings.TrimSpace(sha)+"_linux_x64", ""); code != 200 || body != "the remote" {
		t.Errorf("%d %s", code, body)
	}
}

func TestGivenTokenIsTakenAndNotShown(t *testing.T) {
	t.Parallel()
	said := start(t, "--token", "cog_given")
	api := regexp.MustCompile(`DEVIN_API_URL=(\S+)`).FindStringSubmatch(said)[1]
	if code, _ := get(t, api+"/control/sessions", "cog_given"); code != 200 || strings.Contains(said, "cog_") {
		t.Errorf("%d\n%s", code, said)
	}
	if code, _ := get(t, api+"/control/sessions", defaultToken); code != 401 {
		t.Errorf("the usual token is taken too: %d", code)
	}
}

func TestOccupiedPortIsOneClearSentence(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	parsed, err := parse(t, "--addr", taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	err = run(t.Context(), parsed, time.Now, &stdout, &stderr)
	want := taken.Addr().String() + " is taken by another program: stop that, or choose another address with --addr (port 0 takes a free one)"
	if err == nil || err.Error() != want || stdout.Len()+stderr.Len() > 0 {
		t.Errorf("%v %s %s", err, &stdout, &stderr)
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, value string }{
		{"--claim-life", "1500ms"}, {"--claim-life", "0s"}, {"--keep-alive", "0s"}, {"--stream-life", "-1s"}, {"--enqueue", "-1"}, {"--prune-after", "-1s"},
	} {
		if _, err := parse(t, test.flag+"="+test.value); err == nil || !strings.Contains(err.Error(), test.flag) {
			t.Errorf("%s=%s: %v", test.flag, test.value, err)
		}
	}
	parsed, err := parse(t, "--remote", filepath.Join(t.TempDir(), "absent"), "--addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), parsed, time.Now, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "check --remote") {
		t.Error(err)
	}
}

func TestAddressOfTheWholeMachineIsReachedOnLoopback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given string
		ip    net.IP
		want  string
	}{
		{"", net.IPv4zero, "http://127.0.0.1:80"},
		{"", net.IPv6zero, "http://127.0.0.1:80"},
		{"", net.IPv4(127, 0, 0, 1), ""},
		{"http://host:1", net.IPv4zero, "http://host:1"},
	} {
		if got := publicURL(test.given, &net.TCPAddr{IP: test.ip, Port: 80}); got != test.want {
			t.Errorf("%q, %v: %q", test.given, test.ip, got)
		}
	}
}
