package main

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProxyAndCertificatesOfTheEnvironmentAreUsedAndPassedOn lets the worker out through a proxy only: what it reaches has
// names that exist nowhere else, and certificates of an authority that only the bundle knows.
func TestProxyAndCertificatesOfTheEnvironmentAreUsedAndPassedOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("Go reads certificates from the keychain there, not from SSL_CERT_FILE")
	}
	b := newBench(t, `env | grep -E '^(HTTPS_PROXY|SSL_CERT_FILE)=' | sort`)
	far := httptest.NewUnstartedServer(http.HandlerFunc(b.serveFile)) // its certificate is good for example.com
	far.Config.ErrorLog = log.New(io.Discard, "", 0)                  // the gateway check hangs up on it
	far.StartTLS()
	t.Cleanup(far.Close)
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		mu.Lock()
		if !slices.Contains(asked, r.Host) {
			asked = append(asked, r.Host)
		}
		mu.Unlock()
		tunnel(t, w, far.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	bundle := filepath.Join(openDir(t), "ca.pem")
	put(t, bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: far.Certificate().Raw}), 0o644)
	b.env["OUTPOST_STATIC_URL"], b.env["OUTPOST_GATEWAY_URL"] = "https://example.com/mirror", "wss://gateway.example.com/worker"
	b.env["SSL_CERT_FILE"], b.env["HTTPS_PROXY"] = bundle, strings.Replace(proxy.URL, "http://", "http://worker:proxy-password@", 1)
	b.mu.Lock()
	for name, text := range b.remotes {
		b.remotes["/mirror"+name] = text
	}
	b.mu.Unlock()
	r := b.start()
	r.expect(0)
	want := []string{"HTTPS_PROXY=" + strings.Replace(proxy.URL, "http://", "http://worker:[redacted]@", 1), "SSL_CERT_FILE=" + bundle}
	if diff := cmp.Diff(want, r.lines("remote")); diff != "" {
		t.Errorf("in the session (-want +got):\n%s", diff)
	}
	mu.Lock()
	hosts := sorted(asked)
	mu.Unlock()
	if diff := cmp.Diff([]string{"example.com:443", "gateway.example.com:443"}, hosts); diff != "" {
		t.Errorf("asked of the proxy (-want +got):\n%s", diff)
	}

	delete(b.env, "SSL_CERT_FILE")
	b.env["OUTPOST_WORKDIR"] = filepath.Join(openDir(t), "other")
	r = b.start()
	r.expect(12)
	if last := r.log[len(r.log)-1]["reason"].(string); !strings.Contains(last, "certificate") {
		t.Errorf("without the bundle: %s", last)
	}
}

// tunnel connects the caller of a proxy with address.
func tunnel(t *testing.T, w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(there, here)
		_ = there.Close()
	}()
	go func() {
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}()
}
