package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
)

func TestDirectoriesOfASessionAreMadeAndFoundAgain(t *testing.T) {
	t.Parallel()
	work := filepath.Join(t.TempDir(), "a", "work")
	for range 2 {
		got, err := Prepare(work, "devin-1", custody.Self())
		if err != nil {
			t.Fatal(err)
		}
		want := Paths{Work: work, State: filepath.Join(work, ".outpost/devin-1/state"), Remote: filepath.Join(work, ".outpost/remote")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, dir := range []string{got.State, got.Remote, filepath.Join(work, "repos")} {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
}

func TestIdIsNeverAPath(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"devin-../../etc", "..", ".", "/etc", "a/b", strings.Repeat("x", 300), "-rf", "ünï", "a\x00b", ""} {
		name := folder(id)
		if !plain.MatchString(name) || name == id {
			t.Errorf("%q becomes %q", id, name)
		}
	}
	if got := folder("devin-0a1B_2"); got != "devin-0a1B_2" {
		t.Errorf("a plain id becomes %q", got)
	}
}

func TestFileInTheWayIsSaid(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "repos"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(work, "devin-1", custody.Self()); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("%v", err)
	}
}

func TestDirectoryOfTheRemoteIsTrustedOnlyIfOthersCannotWriteThere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to root")
	}
	for name, spoil := range map[string]func(string) error{
		"missing":       func(string) error { return nil },
		"writable":      func(path string) error { return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o777)) },
		"somebody's":    func(path string) error { return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, 1000, 1000)) },
		"a link":        func(path string) error { return os.Symlink(os.TempDir(), path) },
		"as it must be": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		path := filepath.Join(t.TempDir(), "remote")
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if err := makeTrusted(path); (err == nil) != (name == "missing" || name == "as it must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
