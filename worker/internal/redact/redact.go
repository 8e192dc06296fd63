// Package redact keeps secrets out of logs. A Secrets knows the exact strings that must never appear, and the shape of an
// account token (cog_…), which a worker never holds but a session might print. It finds them in whole texts and, through a
// Stream, in output that arrives in pieces, wherever the pieces are cut. A secret that was encoded or wrapped on purpose is
// not found: redaction guards against accidents, custody against intent.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"sync"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

const (
	accountPrefix = "cog_"
	accountLength = len(accountPrefix) + 8 // from here on it is a token; whatever token characters follow belong to it
)

// Secrets is the set of strings to hide. Its zero value hides account tokens. It is safe for concurrent use.
type Secrets struct {
	mu    sync.RWMutex
	exact [][]byte // longest first, so that the longest of two that begin together is taken
}

// Add hides secret from now on, plain and in the forms in which it turns up by accident: as part of a URL, inside a JSON
// string, and in base64. An empty secret is none.
func (s *Secrets) Add(secret string) {
	if secret == "" {
		return
	}
	quoted, _ := json.Marshal(secret)
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted[1 : len(quoted)-1]),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, form := range forms {
		s.exact = append(s.exact, []byte(form))
	}
	slices.SortFunc(s.exact, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	s.exact = slices.CompactFunc(s.exact, bytes.Equal)
}

// String is text without its secrets.
func (s *Secrets) String(text string) string {
	var out bytes.Buffer
	stream := s.Stream(&out)
	_, _ = stream.Write([]byte(text)) // a bytes.Buffer takes everything
	_ = stream.Flush()
	return out.String()
}

// find gives the first secret that is complete in text: where it begins and how long it is. begin is -1 when there is none.
func (s *Secrets) find(text []byte) (begin, length int) {
	begin = -1
	for _, secret := range s.exact {
		if i := bytes.Index(text, secret); i >= 0 && (begin < 0 || i < begin) {
			begin, length = i, len(secret)
		}
	}
	for from := 0; ; from++ {
		i := bytes.Index(text[from:], []byte(accountPrefix))
		if i < 0 {
			return begin, length
		}
		from += i
		if begin >= 0 && from >= begin {
			return begin, length
		}
		if n := tokenRun(text[from:]); n >= accountLength {
			return from, n
		}
	}
}

// unfinished is how many bytes at the end of text could be the beginning of a secret.
func (s *Secrets) unfinished(text []byte) int {
	longest := 0
	for _, secret := range s.exact {
		for n := min(len(secret)-1, len(text)); n > longest; n-- {
			if bytes.HasSuffix(text, secret[:n]) {
				longest = n
			}
		}
	}
	for n := min(accountLength-1, len(text)); n > longest; n-- {
		tail := text[len(text)-n:]
		prefix := min(n, len(accountPrefix))
		if string(tail[:prefix]) == accountPrefix[:prefix] && tokenRun(tail) == n {
			longest = n
		}
	}
	return longest
}

// tokenRun is how many token characters text begins with.
func tokenRun(text []byte) int {
	for i, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return i
		}
	}
	return len(text)
}

// Stream hides secrets in what is written through it. It is not safe for concurrent use.
type Stream struct {
	secrets *Secrets
	to      io.Writer
	held    []byte // could be the beginning of a secret
	inToken bool   // an account token was hidden and may not have ended yet
}

// Stream gives a writer that passes on to to what it is given, without secrets. It holds back what could be the beginning of
// one until the next Write or Flush.
func (s *Secrets) Stream(to io.Writer) *Stream { return &Stream{secrets: s, to: to} }

// Write takes all of piece; its error is that of the writer behind.
func (st *Stream) Write(piece []byte) (int, error) {
	st.held = append(st.held, piece...)
	return len(piece), st.pass(false)
}

// Flush passes on what was held back, for the text has ended.
func (st *Stream) Flush() error {
	err := st.pass(true)
	st.inToken = false
	return err
}

// pass writes what is decided: the leftmost secret is hidden, the longest of those that begin there. Unless the text has
// ended, nothing is decided from the place on where a secret could have begun whose rest is still to come.
func (st *Stream) pass(ended bool) error {
	st.secrets.mu.RLock()
	defer st.secrets.mu.RUnlock()
	text, out := st.held, []byte(nil)
	for {
		if st.inToken {
			text = text[tokenRun(text):]
			st.inToken = len(text) == 0
		}
		decided := len(text)
		if !ended {
			decided -= st.secrets.unfinished(text)
		}
		begin, length := st.secrets.find(text)
		if begin < 0 || begin >= decided {
			out = append(out, text[:decided]...)
			text = text[decided:]
			break
		}
		out = append(append(out, text[:begin]...), Mark...)
		st.inToken = bytes.HasPrefix(text[begin:], []byte(accountPrefix))
		text = text[begin+length:]
	}
	st.held = bytes.Clone(text)
	if len(out) == 0 {
		return nil
	}
	_, err := st.to.Write(out)
	return err
}

// Whole gives a writer for texts that are complete in one Write each, such as log records. It may be shared by goroutines
// if to may.
func (s *Secrets) Whole(to io.Writer) io.Writer { return whole{s, to} }

type whole struct {
	secrets *Secrets
	to      io.Writer
}

func (w whole) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.to, w.secrets.String(string(text)))
	return len(text), err
}
