// Package workspace makes the directories a session works in. A workspace may lie on a disk that an earlier session wrote
// to: everything below it is reached through os.Root, so that a symbolic link left there leads nowhere else.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
)

// Paths are the directories of one session.
type Paths struct {
	Work   string // the session's current directory; its repositories are below repos/
	State  string // the remote's own state, one per session
	Remote string // where devin-remote is kept: the session cannot write there, unless it runs as the worker's own user
}

const (
	ours       = ".outpost"                // our directory in a workspace
	remoteHome = "/var/lib/outpost-worker" // of the downloaded remote, when the session has a user of its own
	logHome    = "/var/log/devin"          // the remote tries to make it, and is not always allowed to
)

// Prepare makes the directories below work for a session, owned by account.
func Prepare(work, session string, account custody.Account) (Paths, error) {
	state := filepath.Join(ours, folder(session), "state")
	paths := Paths{Work: work, State: filepath.Join(work, state), Remote: remoteHome}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return Paths{}, fmt.Errorf("make the workspace: %w", err)
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return Paths{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	folders := []string{".", "repos", ours, filepath.Dir(state), state}
	if account.Own {
		paths.Remote = filepath.Join(work, ours, "remote")
		folders = append(folders, filepath.Join(ours, "remote"))
	} else if err := makeTrusted(remoteHome); err != nil {
		return Paths{}, fmt.Errorf("make the directory of the remote: %w", err)
	}
	for _, name := range folders {
		mode := fs.FileMode(0o755)
		if name == state {
			mode = 0o700
		}
		if err := makeOwned(root, name, mode, account); err != nil {
			return Paths{}, fmt.Errorf("make %s: %w", filepath.Join(work, name), err)
		}
	}
	return paths, makeLogs(account)
}

func makeOwned(root *os.Root, name string, mode fs.FileMode, account custody.Account) error {
	if err := root.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("it is there and is no directory (%s)", info.Mode().Type())
	}
	if account.Own {
		return nil
	}
	return root.Lchown(name, int(account.UID), int(account.GID))
}

// makeTrusted makes a directory that only root can write to: what is verified there stays what it was.
func makeTrusted(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner, known := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o022 != 0 || known && owner.Uid != 0 {
		return fmt.Errorf("%s is in the image and must be a directory that only root can write to; remove it from the image", path)
	}
	return nil
}

// makeLogs makes /var/log/devin where the worker may; under the worker's own user, the remote does without if it must.
func makeLogs(account custody.Account) error {
	err := os.Mkdir(logHome, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if account.Own {
			return nil
		}
		return fmt.Errorf("make %s: %w", logHome, err)
	}
	if account.Own {
		return nil
	}
	return os.Lchown(logHome, int(account.UID), int(account.GID))
}

var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// folder is the name of a session's directory: its id where that is a plain word, else a hash of it. An id is never a path.
func folder(session string) string {
	if plain.MatchString(session) {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	return "session-" + hex.EncodeToString(sum[:16])
}
