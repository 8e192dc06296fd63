package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"
)

const tries = 6 // of one file; with the pauses between them some 30 seconds

// final marks a failure that another try would only repeat.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// retry calls once until it succeeds, fails for good, or has been tried enough; the pauses double and are jittered.
func (d Distribution) retry(ctx context.Context, name string, once func() error) error {
	for try := 1; ; try++ {
		err := once()
		if err == nil {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return errors.Join(cause, err)
		}
		if _, ok := errors.AsType[final](err); ok || try == tries {
			return err
		}
		pause := (250*time.Millisecond)<<try + rand.N(250*time.Millisecond<<try)
		d.Log.Warn("download interrupted: trying again", "file", name, "try", try, "pause_ms", pause.Milliseconds(), "error", err.Error())
		if err := d.Wait(ctx, pause); err != nil {
			return context.Cause(ctx)
		}
	}
}

// get asks for a file from byte offset on, provided it is still the version with that tag, and refuses what is no file of a distribution.
func (d Distribution) get(ctx context.Context, name string, offset int64, tag string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url(name), nil)
	if err != nil {
		return nil, final{err}
	}
	if offset > 0 {
		request.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
		request.Header.Set("If-Range", tag)
	}
	answer, err := d.Client.Do(request)
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return nil, final{fmt.Errorf("%w (if a proxy or mirror has a certificate of your own, name your bundle in SSL_CERT_FILE)", err)}
	}
	if err != nil {
		return nil, err
	}
	if err := refuse(answer); err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

func refuse(answer *http.Response) error {
	code := answer.StatusCode
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case code == http.StatusNotFound || code == http.StatusForbidden:
		return final{fmt.Errorf("answered %s: no such build, or a mirror that lacks it", answer.Status)}
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500 || code == http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("answered %s", answer.Status)
	case code != http.StatusOK && code != http.StatusPartialContent:
		return final{fmt.Errorf("answered %s", answer.Status)}
	case kind == "text/html":
		return final{errors.New("answered a web page, not a file: a proxy's error page, or a wrong OUTPOST_STATIC_URL")}
	}
	return nil
}

// fill downloads name into part, taking up after an interruption where it stopped if the server can do that.
func (d Distribution) fill(ctx context.Context, name string, part *os.File) error {
	var have int64
	var tag string
	return d.retry(ctx, name, func() error {
		if tag == "" {
			have = 0
		}
		answer, err := d.get(ctx, name, have, tag)
		if err != nil {
			tag = ""
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			have = 0
		} else if begin := fmt.Sprintf("bytes %d-", have); !bytes.HasPrefix([]byte(answer.Header.Get("Content-Range")), []byte(begin)) {
			tag = ""
			return fmt.Errorf("asked for %s…, got %q", begin, answer.Header.Get("Content-Range"))
		}
		tag = answer.Header.Get("ETag")
		if answer.ContentLength > d.MaxBytes-have {
			return final{fmt.Errorf("is larger than %d bytes", d.MaxBytes)}
		}
		if err := errors.Join(part.Truncate(have), seek(part, have)); err != nil {
			return final{err}
		}
		n, err := io.Copy(part, io.LimitReader(answer.Body, d.MaxBytes-have+1))
		have += n
		if have > d.MaxBytes {
			return final{fmt.Errorf("is larger than %d bytes", d.MaxBytes)}
		}
		if err == nil {
			return looksLikePage(part)
		}
		return err
	})
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}

// looksLikePage refuses a web page that came under another content type.
func looksLikePage(f *os.File) error {
	head := make([]byte, 64)
	n, _ := f.ReadAt(head, 0)
	text := bytes.ToLower(bytes.TrimSpace(head[:n]))
	if bytes.HasPrefix(text, []byte("<!doctype html")) || bytes.HasPrefix(text, []byte("<html")) {
		return final{errors.New("answered a web page, not a file: a proxy's error page, or a wrong OUTPOST_STATIC_URL")}
	}
	return nil
}
