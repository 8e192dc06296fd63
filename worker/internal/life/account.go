package life

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/custody"
)

// shortestSecret of AWS that is hidden: a real one is much longer, and a stand-in such as "test" is a word like others.
const shortestSecret = 12

// hideSecrets tells the log of every secret the environment brought. The credentials' address counts: whoever knows it can
// act by the task's role.
func (w *Worker) hideSecrets() {
	for _, pair := range w.Environ {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN":
			if len(value) >= shortestSecret {
				w.Secrets.Add(value)
			}
		case "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy":
			if u, err := url.Parse(value); err == nil && u.User != nil {
				password, _ := u.User.Password()
				w.Secrets.Add(password)
			}
		}
	}
}

// becomeAccount finds or creates the user that the session will run as.
func (w *Worker) becomeAccount(context.Context) error {
	name := string(w.settings.User)
	if w.settings.PassTaskRole {
		w.Log.Warn("OUTPOST_PASS_TASK_ROLE is on: the session can do whatever the task's role may do")
	}
	if w.settings.AllowSameUser {
		w.account = custody.Self()
		w.Log.Warn("the session runs as the worker's own user: good for a demo, not for production", "user", w.account.Name)
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("the worker must be started as root, so that it can run the session as user %s; set OUTPOST_ALLOW_SAME_USER=true to run the session as the worker's own user (for a demo)", name)
	}
	if w.settings.AllowSudo {
		w.Log.Warn("OUTPOST_ALLOW_SUDO is on: the session can become root in its container, change anything in it and end the worker")
	}
	account, found, err := custody.Find(name)
	if err != nil {
		return err
	}
	if !found && runtime.GOOS != "linux" {
		return fmt.Errorf("there is no user %s: create it, or name another by OUTPOST_USER", name)
	}
	if !found {
		if err := custody.Create("/etc", "/home", name); err != nil {
			return err
		}
		if account, _, err = custody.Find(name); err != nil { // with the groups that the image names it in
			return err
		}
		w.Log.Info("user created", "user", account.Name, "uid", account.UID)
	}
	if account.Home == "" {
		account.Home = string(w.settings.Workdir)
	}
	w.account = account
	return nil
}
