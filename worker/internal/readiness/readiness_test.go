package readiness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// machine is a fit one: a test spoils what it is about.
func machine(t *testing.T) Machine {
	t.Helper()
	clock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", noon.Format(http.TimeFormat))
	}))
	t.Cleanup(clock.Close)
	return Machine{
		Gateway: "ws://" + listen(t, nil) + "/w", Static: clock.URL, Workdir: "/workspace",
		Root: fstest.MapFS{
			"sys/fs/cgroup/memory.max": {Data: []byte("8589934592\n")},
			"opt/google/chrome/chrome": {Mode: 0o755},
		},
		Look: func(name string) (string, error) {
			if name == "git" || name == "ffmpeg" {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		},
		Space:  func(string) (uint64, uint64, error) { return 40 << 30, 20 << 30, nil },
		Proxy:  func(*http.Request) (*url.URL, error) { return nil, nil },
		Client: http.DefaultClient, Now: func() time.Time { return noon }, Pause: time.Millisecond,
	}
}

// listen accepts connections, hands each to serve (nil: closes it), and gives the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if serve != nil {
				serve(conn)
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestFitMachinePassesEveryCheck(t *testing.T) {
	t.Parallel()
	m := machine(t)
	address := strings.TrimSuffix(strings.TrimPrefix(m.Gateway, "ws://"), "/w")
	want := []Check{
		{"git", Pass, "/usr/bin/git", ""},
		{"ffmpeg", Pass, "/usr/bin/ffmpeg", ""},
		{"chrome", Pass, "/opt/google/chrome/chrome", ""},
		{"disk", Pass, "20.0 GiB free of 40.0 GiB at /workspace", ""},
		{"memory", Pass, "8.0 GiB for the container", ""},
		{"/dev/shm", Pass, "40.0 GiB", ""},
		{"clock", Pass, "within 1m0s of the distribution's", ""},
		{"gateway name", Pass, "127.0.0.1 is 127.0.0.1", ""},
		{"gateway", Pass, address + " answers", ""},
	}
	if diff := cmp.Diff(want, m.Inspect(t.Context())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyGitAndTheGatewayMakeAMachineUnfit(t *testing.T) {
	t.Parallel()
	nothing := func(m *Machine) { m.Look = func(string) (string, error) { return "", errors.New("not found") } }
	files := func(files fstest.MapFS) func(*Machine) { return func(m *Machine) { m.Root = files } }
	for name, one := range map[string]struct {
		spoil  func(*Machine)
		check  string
		status Status
		detail string // part of it
	}{
		"no git":           {nothing, "git", Fail, "not found"},
		"no ffmpeg":        {nothing, "ffmpeg", Warn, "not found"},
		"no chrome":        {files(fstest.MapFS{}), "chrome", Warn, "not found"},
		"chrome misnamed":  {func(m *Machine) { m.Chrome = "/opt/chrome" }, "chrome", Warn, "/opt/chrome (DEVIN_CHROME_PATH) is no executable file"},
		"chrome named":     {func(m *Machine) { m.Chrome = "/opt/google/chrome/chrome" }, "chrome", Pass, "/opt/google/chrome/chrome"},
		"chrome of a test": {files(fstest.MapFS{"home/devin/.cache/ms-playwright/chromium-1/chrome-linux/chrome": {Mode: 0o755}}), "chrome", Pass, "/home/devin/"},
		"disk full":        {func(m *Machine) { m.Space = func(string) (uint64, uint64, error) { return 20 << 30, 1 << 30, nil } }, "disk", Warn, "1.0 GiB free"},
		"disk unknown":     {func(m *Machine) { m.Space = func(string) (uint64, uint64, error) { return 0, 0, fs.ErrPermission } }, "disk", Warn, "unknown"},
		"little memory":    {files(fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": {Data: []byte("536870912")}}), "memory", Warn, "512 MiB for the container"},
		"no memory limit": {files(fstest.MapFS{"sys/fs/cgroup/memory.max": {Data: []byte("max\n")}, "proc/meminfo": {Data: []byte("MemFree: 1 kB\nMemTotal:  4194304 kB\n")}}),
			"memory", Pass, "4.0 GiB in the machine"},
		"small /dev/shm":   {func(m *Machine) { m.Space = func(string) (uint64, uint64, error) { return 64 << 20, 64 << 20, nil } }, "/dev/shm", Warn, "64 MiB"},
		"clock wrong":      {func(m *Machine) { m.Now = func() time.Time { return noon.Add(6 * time.Minute) } }, "clock", Warn, "off by 6m0s"},
		"clock unknown":    {func(m *Machine) { m.Static = "http://127.0.0.1:1" }, "clock", Warn, "unknown"},
		"gateway unknown":  {func(m *Machine) { m.Gateway = "wss://gateway.invalid" }, "gateway name", Fail, "gateway.invalid"},
		"gateway down":     {func(m *Machine) { m.Gateway = "ws://127.0.0.1:1" }, "gateway", Fail, "cannot reach 127.0.0.1:1"},
		"gateway not told": {func(m *Machine) { m.Gateway = "" }, "gateway", Warn, "not checked"},
		"GPU there": {func(m *Machine) {
			m.GPU = true
			m.Root = fstest.MapFS{"dev/nvidia0": {}, "dev/nvidia1": {}, "dev/nvidiactl": {},
				"proc/driver/nvidia/version": {Data: []byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  x\nGCC version: 11\n")}}
		}, "gpu", Pass, "2 devices, NVIDIA UNIX x86_64 Kernel Module 570.86.15 x"},
		"GPU missing": {func(m *Machine) { m.GPU = true }, "gpu", Warn, "no /dev/nvidia*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine(t)
			one.spoil(&m)
			outcomes := m.Inspect(t.Context())
			for _, c := range outcomes {
				if c.Name != one.check {
					continue
				}
				if c.Status != one.status || !strings.Contains(c.Detail, one.detail) {
					t.Errorf("%+v, want %s with %q", c, one.status, one.detail)
				}
				if fit, _ := Fit(outcomes); one.check != "git" && one.check != "ffmpeg" && fit != (one.status != Fail) {
					t.Errorf("fit: %v", fit)
				}
				return
			}
			t.Errorf("there is no check %s in %v", one.check, outcomes)
		})
	}
}

func TestGatewayIsReachedThroughTheProxy(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]Status{"200 Connection established": Pass, "403 Forbidden": Fail} {
		asked := make(chan string, tries)
		proxy := listen(t, func(conn net.Conn) {
			text := make([]byte, 1024)
			n, _ := conn.Read(text)
			asked <- string(text[:n])
			_, _ = io.WriteString(conn, "HTTP/1.1 "+answer+"\r\n\r\n")
		})
		m := machine(t)
		m.Gateway = "wss://gateway.example/w"
		m.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("me", "the-password")})
		got := []Check{m.gatewayName(t.Context()), m.gateway(t.Context())}
		if got[0].Status != Pass || got[1].Status != status {
			t.Errorf("%s: %+v", answer, got)
		}
		if strings.Contains(fmt.Sprint(got), "the-password") {
			t.Errorf("the proxy's password is shown: %v", got)
		}
		request := <-asked
		if !strings.HasPrefix(request, "CONNECT gateway.example:443 HTTP/1.1\r\n") || !strings.Contains(request, "Proxy-Authorization: Basic bWU6dGhlLXBhc3N3b3Jk") {
			t.Errorf("the proxy was asked\n%s", request)
		}
	}
}

func TestTableAndJSONSayTheSame(t *testing.T) {
	t.Parallel()
	outcomes := []Check{{"git", Fail, "not found on the PATH", "install git"}, {"memory", Pass, "8.0 GiB", ""}}
	var table, asJSON bytes.Buffer
	if err := errors.Join(WriteTable(&table, outcomes), WriteJSON(&asJSON, outcomes)); err != nil {
		t.Fatal(err)
	}
	wantTable := "CHECK   STATUS  FOUND\ngit     fail    not found on the PATH\n                → install git\nmemory  pass    8.0 GiB\n"
	wantJSON := `{
  "fit": false,
  "checks": [
    {
      "name": "git",
      "status": "fail",
      "detail": "not found on the PATH",
      "advice": "install git"
    },
    {
      "name": "memory",
      "status": "pass",
      "detail": "8.0 GiB"
    }
  ]
}
`
	if diff := cmp.Diff([]string{wantTable, wantJSON}, []string{table.String(), asJSON.String()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
