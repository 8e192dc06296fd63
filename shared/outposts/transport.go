package outposts

import (
	"net/http"
	"time"
)

// When an HTTP/2 connection that brings nothing is asked for a sign of life, and how long it may take to give one.
const (
	pingAfter   = 5 * time.Second
	pingTimeout = 3 * time.Second
)

// Transport makes a transport for the fleet API that gives up dead connections. Over HTTP/2 all calls share one connection, and a call that times out ends only its
// own stream: without pings a connection that died silently would be used until TCP gives it up, after a quarter of an hour (golang/go#36026).
func Transport() *http.Transport { return transport(pingAfter, pingTimeout) }

func transport(after, timeout time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: after, PingTimeout: timeout}
	return t
}
