package custody

import (
	"slices"
	"strings"
)

// inherited are the variables of the worker's own environment that a session may see. A session's shell inherits whatever
// the remote gets, so the list is closed: no AWS_*, ECS_* or OUTPOST_* variable is on it.
var inherited = []string{"PATH", "TMPDIR", "LANG", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environ is the environment of a session that runs as account: what it may inherit from environ, who it is, and the
// variables in extra ("NAME=value"), which win. It is sorted.
func Environ(environ []string, account Account, extra ...string) []string {
	values := map[string]string{"PATH": defaultPath}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(inherited, name) && value != "" {
			values[name] = value
		}
	}
	values["HOME"], values["USER"], values["LOGNAME"] = account.Home, account.Name, account.Name
	for _, pair := range extra {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	clean := make([]string, 0, len(values))
	for name, value := range values {
		clean = append(clean, name+"="+value)
	}
	slices.Sort(clean)
	return clean
}
