package settings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// given is a complete environment; changes ("NAME=value") come on top of it.
func given(changes ...string) []string {
	return append([]string{
		"OUTPOST_ID=outpost_env-1", "OUTPOST_SESSION_ID=devin-1", "OUTPOST_GATEWAY_URL=wss://gateway.example/w", "AWS_REGION=eu-central-1",
		"OUTPOST_CONNECT_TOKEN_CIPHERTEXT=AQID",
	}, changes...)
}

func TestDefaultsAreThoseThatAreDocumented(t *testing.T) {
	t.Parallel()
	got, err := Parse(given())
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{OutpostID: "outpost_env-1", SessionID: "devin-1", Gateway: "wss://gateway.example/w", Ciphertext: Ciphertext{1, 2, 3},
		Region: "eu-central-1", Mode: ModeAuto, Workdir: "/workspace", User: "devin", Static: "https://static.devin.ai/devin-rs/remote", StopTime: 110}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	got, err := Parse(given("OUTPOST_REMOTE_SHA=ABCDEF0123", "OUTPOST_ATTEMPT_ID=a1", "OUTPOST_DEADLINE=2030-01-31T12:00:00Z", "OUTPOST_MODE=cli",
		"OUTPOST_WORKDIR=/data/work", "OUTPOST_USER=1000", "OUTPOST_STATIC_URL=https://mirror.example/remote/", "OUTPOST_STOP_SECONDS=20",
		"OUTPOST_SETUP=/opt/setup.sh", "OUTPOST_ALLOW_SUDO=true", "OUTPOST_ALLOW_SAME_USER=true", "OUTPOST_PASS_TASK_ROLE=true",
		"DEVIN_CHROME_PATH=/opt/chrome", "DEVIN_OUTPOST_DESKTOP=true", "HTTPS_PROXY=http://u:p@proxy:3128", "SSL_CERT_FILE=/etc/ca.pem",
		"NVIDIA_VISIBLE_DEVICES=all", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x"))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{OutpostID: "outpost_env-1", SessionID: "devin-1", Gateway: "wss://gateway.example/w", Ciphertext: Ciphertext{1, 2, 3},
		Commit: "abcdef0123", AttemptID: "a1", Deadline: Moment{time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)}, Region: "eu-central-1", Mode: ModeCLI, Workdir: "/data/work", User: "1000",
		Static: "https://mirror.example/remote", StopTime: 20, Setup: "/opt/setup.sh", AllowSudo: true, AllowSameUser: true, PassTaskRole: true,
		ChromePath: "/opt/chrome", Desktop: true, Proxy: "http://u:p@proxy:3128", CABundle: "/etc/ca.pem", GPU: "all", CredentialURI: "/v2/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMalformedValueIsRefusedAndNeverReplacedByItsDefault(t *testing.T) {
	t.Parallel()
	for _, pair := range []string{
		"OUTPOST_ID=two words", "OUTPOST_SESSION_ID=--help", "OUTPOST_SESSION_ID=" + strings.Repeat("x", 513), "OUTPOST_SESSION_ID=",
		"OUTPOST_GATEWAY_URL=ws://gateway.example", "OUTPOST_GATEWAY_URL=https://gateway.example", "OUTPOST_GATEWAY_URL=wss://", "OUTPOST_GATEWAY_URL=ws://127.0.0.1.example",
		"OUTPOST_CONNECT_TOKEN_CIPHERTEXT=%%", "OUTPOST_REMOTE_SHA=main", "OUTPOST_REMOTE_SHA=abc", "OUTPOST_REMOTE_SHA=../../etc",
		"OUTPOST_DEADLINE=tomorrow", "OUTPOST_MODE=shell", "OUTPOST_WORKDIR=work", "OUTPOST_WORKDIR=/", "OUTPOST_WORKDIR=/srv/../etc",
		"OUTPOST_USER=root", "OUTPOST_USER=0", "OUTPOST_USER=00", "OUTPOST_USER=a:b", "OUTPOST_USER=9999999999",
		"OUTPOST_STATIC_URL=http://mirror.example", "OUTPOST_STATIC_URL=https://u:p@mirror.example", "OUTPOST_STATIC_URL=file:///etc",
		"OUTPOST_STOP_SECONDS=0", "OUTPOST_STOP_SECONDS=1.5", "OUTPOST_STOP_SECONDS=9999", "OUTPOST_ALLOW_SUDO=yes", "OUTPOST_ALLOW_SAME_USER=1",
		"HTTPS_PROXY=ftp://proxy", "SSL_CERT_FILE=ca.pem", "AWS_REGION=",
	} {
		name, value, _ := strings.Cut(pair, "=")
		_, err := Parse(given(pair))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Variable != name {
			t.Errorf("%s=%.40q: %v", name, value, err)
		}
	}
}

func TestLoopbackMayGoWithoutTLS(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "127.0.0.1", "127.9.9.9", "[::1]"} {
		if _, err := Parse(given("OUTPOST_GATEWAY_URL=ws://"+host+":8080/w", "OUTPOST_STATIC_URL=http://"+host+":8080/static")); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	_, err := Parse(given("OUTPOST_CONNECT_TOKEN_CIPHERTEXT=in-the-clear!", "HTTPS_PROXY=ftp://u:in-the-clear@proxy", "OUTPOST_GATEWAY_URL=ws://far?key=in-the-clear"))
	if err == nil || strings.Contains(err.Error(), "in-the-clear") || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}

// FuzzParse proves that what is accepted is safe to use as it is, and that what is refused names its variable.
func FuzzParse(f *testing.F) {
	f.Add("devin-1", "wss://gateway.example", "AQID", "abcdef0", "/workspace", "devin", "https://mirror.example", "110", "true", "2030-01-31T12:00:00Z")
	f.Add("devin-../../etc", "ws://localhost:1", "", "", "/w", "1000", "http://[::1]:80/", "1", "false", "")
	f.Add("-x", "ws://far", "%", "main", "w", "root", "http://far", "-1", "TRUE", "now")
	f.Fuzz(func(t *testing.T, session, gateway, ciphertext, commit, dir, user, static, seconds, sudo, deadline string) {
		values := map[string]string{"OUTPOST_SESSION_ID": session, "OUTPOST_GATEWAY_URL": gateway, "OUTPOST_CONNECT_TOKEN_CIPHERTEXT": ciphertext,
			"OUTPOST_REMOTE_SHA": commit, "OUTPOST_WORKDIR": dir, "OUTPOST_USER": user, "OUTPOST_STATIC_URL": static,
			"OUTPOST_STOP_SECONDS": seconds, "OUTPOST_ALLOW_SUDO": sudo, "OUTPOST_DEADLINE": deadline}
		environ := given()
		for name, value := range values {
			environ = append(environ, name+"="+value)
		}
		s, err := Parse(environ)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("no list of problems: %v", err)
			}
			for _, p := range problems {
				if _, known := values[p.Variable]; !known || p.Want == "" {
					t.Fatalf("%+v names none of the variables", p)
				}
			}
			return
		}
		for _, text := range []string{string(s.SessionID), string(s.Commit), string(s.Workdir), string(s.User), string(s.Gateway), string(s.Static)} {
			if strings.ContainsAny(text, "\x00\n\r") {
				t.Fatalf("%q was accepted", text)
			}
		}
		if s.SessionID[0] == '-' || s.User == "root" || s.Workdir[0] != '/' || strings.Contains(string(s.Commit), "/") || s.StopTime < 1 || len(s.Ciphertext) == 0 {
			t.Fatalf("accepted: %+v", s)
		}
		if strings.HasPrefix(string(s.Gateway), "ws:") && !strings.Contains(string(s.Gateway), "localhost") && !strings.ContainsAny(string(s.Gateway), "1") {
			t.Fatalf("%q was accepted", s.Gateway)
		}
	})
}
