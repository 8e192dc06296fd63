package readiness

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	tries   = 3               // a task's network can take a moment to come up
	patient = 5 * time.Second // for each of them
)

// route is how the gateway is reached.
type route struct {
	host, address string   // of the gateway; address has a port
	proxy         *url.URL // nil: directly
}

func (m Machine) route() (route, error) {
	u, err := url.Parse(m.Gateway)
	if err != nil || u.Hostname() == "" {
		return route{}, errors.New("OUTPOST_GATEWAY_URL is no URL with a host")
	}
	scheme, port := "https", "443"
	if u.Scheme == "ws" {
		scheme, port = "http", "80"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	address := net.JoinHostPort(u.Hostname(), port)
	proxy, err := m.Proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: address}})
	if err != nil {
		return route{}, errors.New("HTTPS_PROXY is no URL of a proxy") // its own error would show the password
	}
	return route{host: u.Hostname(), address: address, proxy: proxy}, nil
}

func (m Machine) gatewayName(ctx context.Context) Check {
	if m.Gateway == "" {
		return Check{"gateway name", Warn, "not checked: OUTPOST_GATEWAY_URL is not set", ""}
	}
	way, err := m.route()
	if err != nil {
		return Check{"gateway name", Fail, err.Error(), "correct it"}
	}
	if way.proxy != nil {
		return Check{"gateway name", Pass, "left to the proxy " + way.proxy.Host, ""}
	}
	var found []string
	err = m.retry(ctx, func(ctx context.Context) (err error) {
		found, err = net.DefaultResolver.LookupHost(ctx, way.host)
		return err
	})
	if err != nil {
		return Check{"gateway name", Fail, err.Error(), "the VPC needs DNS resolution, or the task a proxy (HTTPS_PROXY)"}
	}
	return Check{"gateway name", Pass, way.host + " is " + strings.Join(found[:min(len(found), 3)], ", "), ""}
}

func (m Machine) gateway(ctx context.Context) Check {
	if m.Gateway == "" {
		return Check{"gateway", Warn, "not checked: OUTPOST_GATEWAY_URL is not set", ""}
	}
	way, err := m.route()
	if err != nil {
		return Check{"gateway", Fail, err.Error(), "correct it"}
	}
	via, advice := "", "the task's subnets and security groups must let it out to port 443 (a public address, NAT, or HTTPS_PROXY)"
	if way.proxy != nil {
		via, advice = " through the proxy "+way.proxy.Host, "the proxy must allow CONNECT to it"
	}
	if err := m.retry(ctx, way.connect); err != nil {
		return Check{"gateway", Fail, fmt.Sprintf("cannot reach %s%s: %v", way.address, via, err), advice}
	}
	return Check{"gateway", Pass, way.address + " answers" + via, ""}
}

func (m Machine) retry(ctx context.Context, once func(context.Context) error) error {
	for try := 1; ; try++ {
		limited, cancel := context.WithTimeout(ctx, patient)
		err := once(limited)
		cancel()
		if err == nil || try == tries {
			return err
		}
		pause := time.NewTimer(m.Pause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// connect opens a connection to the gateway and closes it again.
func (r route) connect(ctx context.Context) error {
	dialer := &net.Dialer{}
	if r.proxy == nil {
		conn, err := dialer.DialContext(ctx, "tcp", r.address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	conn, err := dialProxy(ctx, dialer, r.proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if strings.HasPrefix(r.proxy.Scheme, "socks5") {
		return nil // that it answers must do
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: r.address}, Host: r.address, Header: http.Header{}}
	if r.proxy.User != nil {
		password, _ := r.proxy.User.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(r.proxy.User.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy answered %s", answer.Status)
	}
	return nil
}

func dialProxy(ctx context.Context, dialer *net.Dialer, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[proxy.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	if proxy.Scheme == "https" {
		return (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", address)
	}
	return dialer.DialContext(ctx, "tcp", address)
}
