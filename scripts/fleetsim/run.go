package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
)

const (
	defaultToken   = outpoststest.DefaultToken
	defaultOutpost = outpoststest.DefaultOutpost
)

type settings struct {
	Addr       string        `default:"127.0.0.1:8333" help:"Address to listen on; port 0 takes a free one."`
	PublicURL  string        `placeholder:"URL" help:"How clients reach this server, when that is not its address."`
	Token      string        `default:"${token}" env:"FLEETSIM_TOKEN" help:"Account token that clients must send."`
	Outpost    []string      `default:"${outpost}" help:"Id of an outpost; repeat for more."`
	ClaimLife  time.Duration `default:"5m" help:"How long a claim lasts, in whole seconds."`
	PruneAfter time.Duration `default:"10m" help:"How long a released session that sleeps or is over stays in the queue; 0 = for ever."`
	KeepAlive  time.Duration `default:"15s" help:"Time between comments on a silent watch."`
	StreamLife time.Duration `default:"5m" help:"Longest watch."`
	Remote     string        `placeholder:"PATH" help:"A devin-remote to distribute; by default ours is built, with the go command."`
	Enqueue    int           `default:"0" help:"Sessions to enqueue at the start, in the first outpost."`
}

// Validate is called by kong.
func (s settings) Validate() error {
	if s.ClaimLife < time.Second || s.ClaimLife%time.Second != 0 {
		return fmt.Errorf("--claim-life is %v: whole seconds, one at least", s.ClaimLife)
	}
	if s.PruneAfter < 0 || s.KeepAlive <= 0 || s.StreamLife <= 0 || s.Enqueue < 0 {
		return errors.New("--prune-after and --enqueue must not be negative, --keep-alive and --stream-life must be above 0")
	}
	return nil
}

func run(ctx context.Context, settings settings, now func() time.Time, stdout, stderr io.Writer) error {
	listener, err := net.Listen("tcp", settings.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken by another program: stop that, or choose another address with --addr (port 0 takes a free one)", settings.Addr)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w: choose another address with --addr", settings.Addr, err)
	}
	binary, err := remote(ctx, settings.Remote, stderr)
	if err != nil {
		_ = listener.Close()
		return err
	}
	server := outpoststest.New(outpoststest.Options{
		Now: now, Listener: listener, PublicURL: publicURL(settings.PublicURL, listener.Addr()),
		Token: settings.Token, Outposts: settings.Outpost, ClaimLife: settings.ClaimLife, PruneAfter: settings.PruneAfter,
		KeepAlive: settings.KeepAlive, StreamLife: settings.StreamLife, Binary: binary,
	})
	defer server.Close()
	for range settings.Enqueue {
		server.Enqueue(outpoststest.EnqueueOptions{})
	}
	if err := explain(stdout, server, settings.Outpost[0]); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// publicURL is the given URL or, for an address that stands for all of the
// machine's, one that works on the machine itself.
func publicURL(given string, addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if given != "" || !ok || !tcp.IP.IsUnspecified() {
		return given
	}
	return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
}

func remote(ctx context.Context, path string, stderr io.Writer) ([]byte, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "fleetsim-")
		if err != nil {
			return nil, fmt.Errorf("make a directory for devin-remote: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		_, _ = fmt.Fprintln(stderr, "building devin-remote …")
		if path, err = outpoststest.BuildRemote(ctx, dir); err != nil {
			return nil, fmt.Errorf("%w: or give one with --remote", err)
		}
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read devin-remote: %w: check --remote", err)
	}
	return binary, nil
}

func explain(stdout io.Writer, server *outpoststest.Server, outpost string) error {
	token := server.Token()
	if token != defaultToken {
		token = "$FLEETSIM_TOKEN" // it was given: do not show it around
	}
	_, err := fmt.Fprintf(stdout, `The fleet simulator listens. Point a client at it:

  DEVIN_API_URL=%[1]s
  account token:     %[2]s
  outpost:           %[3]s
  OUTPOST_STATIC_URL=%[4]s
  gateway:           %[5]s

Queue a session, and look at all of them:

  curl -H "Authorization: Bearer %[2]s" -d '{}' %[1]s/control/enqueue
  curl -H "Authorization: Bearer %[2]s" %[1]s/control/sessions

More in docs/fleetsim.md. Stop it with Ctrl-C.
`, server.URL(), token, outpost, server.StaticURL(), server.GatewayURL())
	if err != nil {
		return fmt.Errorf("print the addresses: %w", err)
	}
	return nil
}
