// Package fetch gets devin-remote from its distribution and vouches for it: a file at the path it returns is complete and
// has the checksum that the distribution states. What is cut, altered or a web page never gets a name that could be executed.
//
// The distribution's layout is documented by the vendor: latest_<suffix> answers the newest commit,
// devin-remote_<commit>_<suffix> is the binary, and the same name with .sha256 its checksum.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/worker/internal/settings"
)

// ErrMismatch says that what was downloaded does not have the checksum the distribution states, twice in a row.
var ErrMismatch = errors.New("the checksum does not match")

// A Distribution is where devin-remote comes from.
type Distribution struct {
	Base     string // URL without a slash at its end
	Client   *http.Client
	Log      *slog.Logger
	Wait     func(context.Context, time.Duration) error // sleeps; the error is the context's
	MaxBytes int64                                      // a larger binary is refused
}

// Limits of a download. A remote is some tens of megabytes; the time is what a slow proxy may need, well below the time a
// claim waits for its worker.
const (
	MaxBytes = 1 << 30
	MaxTime  = 8 * time.Minute
)

// NewClient gives the HTTP client for a distribution: through the environment's proxy, and by redirects to https only (or
// to loopback).
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 30 * time.Second
	transport.DisableCompression = true // sizes and ranges are those of the file
	return &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("more than five redirects")
		}
		if !settings.Trustworthy(to.URL) {
			return fmt.Errorf("redirected to %s, which is not https", to.URL.Redacted())
		}
		return nil
	}}
}

// Suffix names the build for a machine, as the distribution does; an error says that there is none.
func Suffix(goos, goarch string) (string, error) {
	builds := map[string]string{"linux/amd64": "linux_x64", "linux/arm64": "linux_arm64", "darwin/arm64": "macos_arm64"}
	suffix, ok := builds[goos+"/"+goarch]
	if !ok {
		return "", fmt.Errorf("there is no devin-remote for %s/%s", goos, goarch)
	}
	return suffix, nil
}

var (
	commitForm   = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
	checksumForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

// Remote puts the build of commit (empty: the newest) into dir, unless a good copy is there already, and returns its path.
// Its error wraps ErrMismatch, or the last reason why the download failed.
func (d Distribution) Remote(ctx context.Context, commit, suffix, dir string) (path string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, fmt.Errorf("not done after %s", MaxTime))
	defer cancel()
	if commit == "" {
		if commit, err = d.word(ctx, "latest_"+suffix, commitForm, "a commit"); err != nil {
			return "", err
		}
	}
	name := "devin-remote_" + strings.ToLower(commit) + "_" + suffix
	sum, err := d.word(ctx, name+".sha256", checksumForm, "a SHA-256 checksum")
	if err != nil {
		return "", err
	}
	sum = strings.ToLower(sum)
	path = filepath.Join(dir, name)
	if have, err := sumOf(path); err == nil && have == sum && os.Chmod(path, 0o755) == nil {
		d.Log.Info("remote found in the cache", "path", path)
		return path, nil
	}
	for attempt := 1; ; attempt++ {
		err := d.file(ctx, name, sum, path)
		if err == nil {
			return path, nil
		}
		if attempt == 2 || !errors.Is(err, ErrMismatch) {
			return "", fmt.Errorf("download %s: %w", d.url(name), err)
		}
		d.Log.Warn("remote does not match its checksum: downloading it once more", "error", err.Error())
	}
}

func (d Distribution) url(name string) string { return d.Base + "/" + url.PathEscape(name) }

// word reads a small file whose first word must have the given form.
func (d Distribution) word(ctx context.Context, name string, form *regexp.Regexp, want string) (string, error) {
	var word string
	err := d.retry(ctx, name, func() error {
		answer, err := d.get(ctx, name, 0, "")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
		if err != nil {
			return err
		}
		fields := strings.Fields(string(text))
		if len(fields) == 0 || !form.MatchString(fields[0]) {
			return final{fmt.Errorf("answered %.40q where %s was expected; is OUTPOST_STATIC_URL right?", text, want)}
		}
		word = fields[0]
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", d.url(name), err)
	}
	return word, nil
}

// file downloads name beside path, checks it, and gives it its name.
func (d Distribution) file(ctx context.Context, name, sum, path string) (err error) {
	part, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return final{err}
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	err = errors.Join(d.fill(ctx, name, part), part.Chmod(0o755), part.Close())
	if err != nil {
		return err
	}
	have, err := sumOf(part.Name())
	if err != nil {
		return err
	}
	if have != sum {
		return fmt.Errorf("%w: it has %s, the distribution states %s", ErrMismatch, have, sum)
	}
	return os.Rename(part.Name(), path)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
