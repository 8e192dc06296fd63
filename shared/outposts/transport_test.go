package outposts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy passes TCP connections on to a server, and can make those that exist dead without closing them.
type proxy struct {
	net.Listener
	mu    sync.Mutex
	links []*atomic.Bool // whether each is dead
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{Listener: l}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				return
			}
			t.Cleanup(func() { _ = from.Close(); _ = server.Close() })
			dead := &atomic.Bool{}
			p.mu.Lock()
			p.links = append(p.links, dead)
			p.mu.Unlock()
			go pump(dead, from, server)
			go pump(dead, server, from)
		}
	}()
	return p
}

func pump(dead *atomic.Bool, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if dead.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// die makes all connections that exist dead, and answers how many there are.
func (p *proxy) die() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, dead := range p.links {
		dead.Store(true)
	}
	return len(p.links)
}

func TestDeadConnectionIsGivenUpForAnother(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the call came over %s, so that nothing is shown", r.Proto)
		}
		_, _ = io.WriteString(w, `{"items":[],"has_next_page":false,"cursor":"c"}`)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	p := newProxy(t, server.Listener.Addr().String())
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	way := transport(50*time.Millisecond, 50*time.Millisecond)
	way.TLSClientConfig = &tls.Config{RootCAs: trusted, ServerName: "example.com"}
	client := New(Options{BaseURL: "https://" + p.Addr().String(), HTTP: &http.Client{Transport: way}, Now: time.Now, Timeout: 300 * time.Millisecond,
		Token: func(context.Context, Secret) (Secret, error) { return "cog_x", nil }})
	if _, err := client.List(t.Context(), ListQuery{}); err != nil {
		t.Fatal(err)
	}
	if n := p.die(); n != 1 {
		t.Fatalf("%d connections, want one", n)
	}
	var err error
	for range 20 {
		if _, err = client.List(t.Context(), ListQuery{}); err == nil {
			return
		}
	}
	t.Errorf("20 calls after the connection died, the last: %v", err)
}
