package custody

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Account is the user a session runs as.
type Account struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary
	Home   string
	Own    bool // it is the worker's own user: nothing is changed
}

func (a *Account) credential() *syscall.Credential {
	if a == nil || a.Own {
		return nil
	}
	return &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: a.Groups}
}

// Self is the account the worker itself runs as.
func Self() Account {
	a := Account{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: os.TempDir(), Own: true}
	a.Name = strconv.Itoa(int(a.UID))
	if u, err := user.Current(); err == nil {
		a.Name, a.Home = u.Username, u.HomeDir
	}
	return a
}

// Find looks name, a user's name or number, up among the machine's users. A number that no user has is an account without a
// home of its own. found is false for a name that does not exist.
func Find(name string) (account Account, found bool, err error) {
	lookup := user.Lookup
	number, notNumber := strconv.ParseUint(name, 10, 32)
	if notNumber == nil {
		lookup = user.LookupId
	}
	u, err := lookup(name)
	switch {
	case err == nil:
		account, err = fromUser(u)
		return account, true, err
	case notNumber == nil && isUnknown(err):
		return Account{Name: name, UID: uint32(number), GID: uint32(number)}, true, nil
	case isUnknown(err):
		return Account{}, false, nil
	}
	return Account{}, false, fmt.Errorf("look up user %s: %w", name, err)
}

func isUnknown(err error) bool {
	_, name := errors.AsType[user.UnknownUserError](err)
	_, id := errors.AsType[user.UnknownUserIdError](err)
	return name || id || errors.Is(err, fs.ErrNotExist) // an image may have no /etc/passwd at all
}

func fromUser(u *user.User) (Account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("user %s has the id %q: %w", u.Username, u.Uid, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("user %s has the group id %q: %w", u.Username, u.Gid, err)
	}
	if uid == 0 {
		return Account{}, fmt.Errorf("user %s is root under another name", u.Username)
	}
	account := Account{Name: u.Username, UID: uint32(uid), GID: uint32(gid), Home: u.HomeDir}
	groups, err := u.GroupIds() // fails where there is no /etc/group: then there are none
	if err != nil {
		return account, nil
	}
	for _, group := range groups {
		if id, err := strconv.ParseUint(group, 10, 32); err == nil {
			account.Groups = append(account.Groups, uint32(id))
		}
	}
	return account, nil
}

// Create adds a user called name, with a group and a home of its own and no password, to the machine whose /etc is etc and
// whose homes are in homes. It writes the files itself, since an image may hold no useradd. The id is the first free one from
// 1000 on.
func Create(etc, homes, name string) error {
	taken, err := idsIn(filepath.Join(etc, "passwd"), filepath.Join(etc, "group"))
	if err != nil {
		return fmt.Errorf("create user %s: %w", name, err)
	}
	id := 1000
	for taken[id] {
		id++
	}
	home, shell := filepath.Join(homes, name), "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	err = errors.Join(
		appendLine(filepath.Join(etc, "group"), fmt.Sprintf("%s:x:%d:", name, id), false),
		appendLine(filepath.Join(etc, "passwd"), fmt.Sprintf("%s:x:%d:%d::%s:%s", name, id, id, home, shell), false),
		appendLine(filepath.Join(etc, "shadow"), name+":*:::::::", true), // without a line in it, PAM refuses sudo
		os.MkdirAll(home, 0o755),
		os.Lchown(home, id, id))
	if err != nil {
		return fmt.Errorf("create user %s: %w", name, err)
	}
	return nil
}

// idsIn collects the ids (third column) in files as /etc/passwd and /etc/group have them.
func idsIn(files ...string) (map[int]bool, error) {
	taken := map[int]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		scanner := bufio.NewScanner(strings.NewReader(string(text)))
		for scanner.Scan() {
			columns := strings.Split(scanner.Text(), ":")
			if len(columns) > 2 {
				if id, err := strconv.Atoi(columns[2]); err == nil {
					taken[id] = true
				}
			}
		}
	}
	return taken, nil
}

// appendLine adds a line to a file, on a line of its own. An optional file is left alone where it does not exist.
func appendLine(name, line string, optional bool) error {
	text, err := os.ReadFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && optional {
		return nil
	} else if err != nil && !missing {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
