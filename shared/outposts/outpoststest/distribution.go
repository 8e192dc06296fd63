package outpoststest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var suffixes = []string{"linux_x64", "linux_arm64", "macos_arm64", "windows_x64.exe"}

// Publish makes binary the newest devin-remote, under this commit, for every
// platform. It panics when sha is no commit.
func (s *Server) Publish(sha string, binary []byte) {
	if !commit.MatchString(sha) {
		panic(fmt.Sprintf("outpoststest: %q is no commit", sha))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest, s.remotes[sha] = sha, binary
}

// distribute answers latest_<suffix>, devin-remote_<commit>_<suffix>, and the
// checksum of the latter: 64 hex digits and nothing else, as documented.
func (s *Server) distribute(w http.ResponseWriter, r *http.Request, fault Fault) {
	if fault.Kind == FaultHTML {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Sign in</title><p>Please sign in to this network.\n"))
		return
	}
	body, binary := s.file(r.PathValue("file"))
	if body == nil {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	switch {
	case fault.Kind == FaultCorrupt && binary:
		body = slices.Clone(body)
		body[len(body)/2] ^= 1
	case fault.Kind == FaultChecksum && strings.HasSuffix(r.PathValue("file"), ".sha256"):
		body = []byte(checksum(append([]byte("something else"), body...)))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if fault.Kind == FaultCut {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func (s *Server) file(name string) (body []byte, binary bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, suffix := range suffixes {
		if name == "latest_"+suffix && s.latest != "" {
			return []byte(s.latest + "\n"), false
		}
		base, sum := strings.CutSuffix(name, ".sha256")
		sha, ours := strings.CutPrefix(strings.TrimSuffix(base, "_"+suffix), "devin-remote_")
		remote := s.remotes[sha]
		switch {
		case !ours || !strings.HasSuffix(base, "_"+suffix) || remote == nil:
		case sum:
			return []byte(checksum(remote)), false
		default:
			return remote, true
		}
	}
	return nil, false
}

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
