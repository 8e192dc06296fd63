package settings

import (
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Each type below is one kind of value; its UnmarshalText is the rule, and its error says what would be right.
type (
	Identifier string              // an id of the service: printable, no spaces
	Label      string              // a short printable word
	Gateway    string              // wss:// URL, or ws:// on loopback
	Ciphertext []byte              // what KMS encrypted
	Commit     string              // of the devin-remote build; empty: the newest
	Moment     struct{ time.Time } // zero: none
	Mode       string              // ModeAuto, ModeRemote or ModeCLI
	Path       string              // absolute and clean
	UserName   string              // a name or a number, never root
	Static     string              // base URL of the distribution, without a slash at its end
	Seconds    int                 // 1 to 3600
	Switch     bool                // true or false
	Proxy      string              // URL of a proxy
)

// The modes: how the session is served.
const (
	ModeAuto   Mode = "auto"   // cli where a devin command is on the PATH, else remote
	ModeRemote Mode = "remote" // download devin-remote and run it
	ModeCLI    Mode = "cli"    // run the image's own devin command
)

var (
	identifier = regexp.MustCompile(`^[!-,.-~][!-~]{0,511}$`) // anything printable, but no leading dash: it is an argument of the cli
	label      = regexp.MustCompile(`^[!-~]{1,256}$`)
	commit     = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	userName   = regexp.MustCompile(`^([a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})$`)
)

func match[T ~string](into *T, text []byte, rule *regexp.Regexp, want string) error {
	if !rule.Match(text) {
		return errors.New(want)
	}
	*into = T(text)
	return nil
}

func (v *Identifier) UnmarshalText(text []byte) error {
	return match(v, text, identifier, "must be 1 to 512 printable characters without spaces, and not begin with a dash")
}

func (v *Label) UnmarshalText(text []byte) error {
	return match(v, text, label, "must be 1 to 256 printable characters without spaces")
}

func (v *Commit) UnmarshalText(text []byte) error {
	if err := match(v, text, commit, "must be a commit of 7 to 64 hex digits, or empty for the newest build"); err != nil {
		return err
	}
	*v = Commit(strings.ToLower(string(*v)))
	return nil
}

func (v *UserName) UnmarshalText(text []byte) error {
	if err := match(v, text, userName, "must be a user name (lower-case letters, digits, - and _) or a numeric user id"); err != nil {
		return err
	}
	if id, err := strconv.ParseUint(string(text), 10, 32); string(text) == "root" || err == nil && id == 0 {
		return errors.New("must not be root: the session runs as an ordinary user")
	} else if err != nil && !errors.Is(err, strconv.ErrSyntax) || err == nil && id > 1<<31 {
		return errors.New("must be a user id below 2147483648")
	}
	return nil
}

func (v *Gateway) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Hostname() == "" || !(u.Scheme == "wss" || u.Scheme == "ws" && Loopback(u.Hostname())) {
		return errors.New("must be a wss:// URL with a host (ws:// is for loopback only)")
	}
	*v = Gateway(text)
	return nil
}

func (v *Static) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Hostname() == "" || !Trustworthy(u) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("must be an https:// URL without query or password (http:// is for loopback only)")
	}
	*v = Static(strings.TrimRight(string(text), "/"))
	return nil
}

func (v *Proxy) UnmarshalText(text []byte) error {
	raw := string(text)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || !(u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "socks5" || u.Scheme == "socks5h") {
		return errors.New("must be the URL of a proxy, such as http://proxy.example:3128")
	}
	*v = Proxy(text)
	return nil
}

func (v *Ciphertext) UnmarshalText(text []byte) error {
	blob, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(blob) == 0 {
		return errors.New("must be base64 of what KMS encrypted")
	}
	*v = blob
	return nil
}

func (v *Moment) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return errors.New("must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z")
	}
	*v = Moment{at}
	return nil
}

func (v *Mode) UnmarshalText(text []byte) error {
	switch mode := Mode(text); mode {
	case ModeAuto, ModeRemote, ModeCLI:
		*v = mode
		return nil
	}
	return errors.New("must be auto, remote or cli")
}

func (v *Path) UnmarshalText(text []byte) error {
	path := string(text)
	if !filepath.IsAbs(path) || path != filepath.Clean(path) || path == "/" || strings.ContainsRune(path, 0) {
		return errors.New("must be an absolute path, not /, without . or .. in it and without a slash at its end")
	}
	*v = Path(path)
	return nil
}

func (v *Seconds) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 3600 {
		return errors.New("must be a whole number of seconds from 1 to 3600, ten below the task's stopTimeout")
	}
	*v = Seconds(n)
	return nil
}

func (v *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "true":
		*v = true
	case "false":
		*v = false
	default:
		return errors.New("must be true or false")
	}
	return nil
}

// Loopback reports whether host names this machine only.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Trustworthy reports whether what u answers can be relied on: by TLS, or because it never leaves this machine.
func Trustworthy(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname())
}
