package outpoststest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	prefix     = "/opbeta/outposts"
	remotePath = "/devin-rs/remote"

	// DefaultToken and DefaultOutpost are what an empty option stands for.
	DefaultToken   = "cog_simulated"
	DefaultOutpost = "outpost_env-demo"
)

// Options configure a Server. Only Now is required.
type Options struct {
	Now      func() time.Time // the service's clock
	Listener net.Listener     // nil = a free port on loopback
	// PublicURL is how clients reach the server, without a slash at its end;
	// empty = http:// and the listener's address.
	PublicURL string

	Token    string   // the account token; empty = DefaultToken
	Outposts []string // ids of the queues; empty = DefaultOutpost alone
	// DocumentedOutposts moves the collection of outposts from the prefix,
	// where the field has seen it, to /outposts below, where the reference
	// puts it.
	DocumentedOutposts bool

	ClaimLife time.Duration // whole seconds; 0 = 5 min
	// PruneAfter is how long a released session that sleeps or is over stays in
	// the queue; 0 = for ever.
	PruneAfter time.Duration
	KeepAlive  time.Duration // between comments on a silent watch; 0 = 15 s
	StreamLife time.Duration // longest watch; 0 = 5 min

	Binary []byte // published as the first devin-remote; nil = none is
}

// Server is the simulated service. Its methods are safe for concurrent use.
type Server struct {
	options Options
	url     string
	http    *http.Server
	stopped chan struct{} // closed when the HTTP server has returned
	closing chan struct{} // closed when it should

	mu       sync.Mutex
	token    string
	outposts []string
	sessions map[string]*record
	rev      int64         // of the last change of any session
	changed  chan struct{} // closed and replaced at every change
	faults   []*Fault
	calls    map[Op]int
	latest   string            // commit of the newest devin-remote
	remotes  map[string][]byte // devin-remote by commit
	closed   bool
}

// New starts a server. It panics on options that make no sense, and when no
// port is free.
func New(options Options) *Server {
	if options.Now == nil {
		panic("outpoststest: Options.Now is required")
	}
	options.Token = cmp.Or(options.Token, DefaultToken)
	options.ClaimLife = cmp.Or(options.ClaimLife, 5*time.Minute)
	options.KeepAlive = cmp.Or(options.KeepAlive, 15*time.Second)
	options.StreamLife = cmp.Or(options.StreamLife, 5*time.Minute)
	if len(options.Outposts) == 0 {
		options.Outposts = []string{DefaultOutpost}
	}
	if options.ClaimLife < time.Second || options.ClaimLife%time.Second != 0 {
		panic(fmt.Sprintf("outpoststest: Options.ClaimLife is %v: whole seconds are told apart", options.ClaimLife))
	}
	if options.Listener == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic("outpoststest: " + err.Error())
		}
		options.Listener = listener
	}
	s := &Server{
		options:  options,
		url:      cmp.Or(options.PublicURL, "http://"+options.Listener.Addr().String()),
		stopped:  make(chan struct{}),
		closing:  make(chan struct{}),
		token:    options.Token,
		outposts: options.Outposts,
		sessions: map[string]*record{},
		changed:  make(chan struct{}),
		calls:    map[Op]int{},
		remotes:  map[string][]byte{},
	}
	if options.Binary != nil {
		s.Publish("a1b2c3d4e5", options.Binary)
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.stopped)
		_ = s.http.Serve(options.Listener) // returns when Close is called
	}()
	return s
}

// Close cuts every connection, those of workers too, and frees the port.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.closing)
	for _, rec := range s.sessions {
		rec.cutWorker()
	}
	s.mu.Unlock()
	_ = s.http.Close() // connections are cut on purpose
	<-s.stopped
}

// URL is the base URL of the API, without a slash at its end.
func (s *Server) URL() string { return s.url }

// StaticURL is where the distribution of devin-remote lies.
func (s *Server) StaticURL() string { return s.url + remotePath }

// GatewayURL is what claims answer as the gateway.
func (s *Server) GatewayURL() string {
	return "ws" + strings.TrimPrefix(s.url, "http") + "/gateway"
}

// Token is the account token that the server takes now.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// SetToken rotates the account token; the old one is refused from now on.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// Calls is how often each operation was asked for, refused calls included.
func (s *Server) Calls() map[Op]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make(map[Op]int, len(s.calls))
	for op, n := range s.calls {
		calls[op] = n
	}
	return calls
}

// Wait returns as soon as the session is as holds wants it, or ctx ends. What
// only time brings about (an expiry) is noticed with the next change.
func (s *Server) Wait(ctx context.Context, sessionID string, holds func(Session) bool) (Session, error) {
	for {
		s.mu.Lock()
		changed, now := s.changed, s.snapshot(sessionID)
		s.mu.Unlock()
		if holds(now) {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, fmt.Errorf("wait for session %s (now %s, %s, connected: %t): %w", sessionID, now.Phase, now.Status, now.Connected, ctx.Err())
		}
	}
}

// WaitConnected returns as soon as a worker serves the session.
func (s *Server) WaitConnected(ctx context.Context, sessionID string) error {
	_, err := s.Wait(ctx, sessionID, func(now Session) bool { return now.Connected })
	return err
}

// announce wakes everybody who waits for a change. The caller holds the lock.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}
