package custody

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentIsMadeFromTheListAndNothingElse(t *testing.T) {
	t.Parallel()
	account := Account{Name: "devin", Home: "/home/devin"}
	got := Environ([]string{"PATH=/bin", "HOME=/root", "USER=root", "LOGNAME=root", "TMPDIR=/t", "LANG=C", "TZ=UTC", "DISPLAY=:1", "WAYLAND_DISPLAY=w",
		"XAUTHORITY=/x", "HTTPS_PROXY=http://p", "NO_PROXY=n", "SSL_CERT_FILE=/ca", "AWS_REGION=r", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x",
		"ECS_CONTAINER_METADATA_URI_V4=http://m", "OUTPOST_ID=o", "DEVIN_TOKEN=cog_x", "LD_PRELOAD=/evil.so", "GOCOVERDIR=/c", "PATHS=x", "=x", ""},
		account, "DEVIN_OUTPOST_CONNECT_TOKEN=t", "LANG=C.UTF-8")
	want := []string{"DEVIN_OUTPOST_CONNECT_TOKEN=t", "DISPLAY=:1", "HOME=/home/devin", "HTTPS_PROXY=http://p", "LANG=C.UTF-8", "LOGNAME=devin", "NO_PROXY=n",
		"PATH=/bin", "SSL_CERT_FILE=/ca", "TMPDIR=/t", "TZ=UTC", "USER=devin", "WAYLAND_DISPLAY=w", "XAUTHORITY=/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []string{"HOME=/home/devin", "LOGNAME=devin", "PATH=" + defaultPath, "USER=devin"}
	if diff := cmp.Diff(want, Environ([]string{"PATH=", "TMPDIR="}, account)); diff != "" {
		t.Errorf("from an empty one (-want +got):\n%s", diff)
	}
}

func TestCreatedUserIsWrittenAsUseraddWould(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a home to another user")
	}
	etc, homes := t.TempDir(), filepath.Join(t.TempDir(), "home")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("passwd", "root:x:0:0:root:/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh") // no newline at its end
	write("group", "root:x:0:\nubuntu:x:1000:\ndocker:x:1001:\n")
	write("shadow", "root:*:19000::::::\n")
	if err := Create(etc, homes, "devin"); err != nil {
		t.Fatal(err)
	}
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	want := map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\ndevin:x:1002:1002::" + homes + "/devin:" + shell + "\n",
		"group":  "root:x:0:\nubuntu:x:1000:\ndocker:x:1001:\ndevin:x:1002:\n",
		"shadow": "root:*:19000::::::\ndevin:*:::::::\n",
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(etc, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestImageWithoutUsersGetsOne(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a home to another user")
	}
	etc := t.TempDir()
	if err := Create(etc, t.TempDir(), "devin"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(etc, "shadow")); err == nil {
		t.Error("a shadow file was made where there was none")
	}
}

func TestNumberThatNoUserHasIsAnAccountAndANameIsNot(t *testing.T) {
	t.Parallel()
	got, found, err := Find("4123456")
	if diff := cmp.Diff(Account{Name: "4123456", UID: 4123456, GID: 4123456}, got); diff != "" || !found || err != nil {
		t.Errorf("%v %v (-want +got):\n%s", found, err, diff)
	}
	if _, found, err := Find("no-such-user-here"); found || err != nil {
		t.Errorf("a user that does not exist was found: %v", err)
	}
	if _, _, err := Find("root"); err == nil {
		t.Error("root was taken for an ordinary user")
	}
}

func TestHostThatMakesProcessesReadableIsRefused(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{"0\n": false, "1\n": true, "2\n": false} {
		err := CheckHost(fstest.MapFS{"proc/sys/fs/suid_dumpable": {Data: []byte(text)}})
		if (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := CheckHost(fstest.MapFS{}); err != nil {
		t.Errorf("without the setting: %v", err)
	}
}
