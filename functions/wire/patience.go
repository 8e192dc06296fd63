package wire

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// patience is how long AWS is waited for. The SDK by itself waits for an answer without end, so that one call that hangs would take the whole invocation.
type patience struct {
	connect  time.Duration // to dial, and again for the TLS handshake
	attempt  time.Duration // one attempt, to the end of its answer
	attempts int           // of a call, when they fail in passing (RunTask is sent once: see shared/tasks)
	pause    time.Duration // between two attempts, at the most
	call     time.Duration // all attempts of a call together; less than functions.WorstCall (12 s)
}

// usual is the functions' patience. Two attempts that hang leave a second for the third: what hangs twice is not worth more.
var usual = patience{connect: 2 * time.Second, attempt: 5 * time.Second, attempts: 3, pause: time.Second, call: 11 * time.Second}

// bound gives every client that is made from the configuration this patience. An HTTP client that the caller made is kept; its attempts are bound by the call alone.
func (p patience) bound(clients aws.Config) aws.Config {
	clients = clients.Copy()
	switch c := clients.HTTPClient.(type) {
	case nil:
		clients.HTTPClient = p.client(awshttp.NewBuildableClient())
	case *awshttp.BuildableClient: // the SDK's own, perhaps with a CA bundle from the environment
		clients.HTTPClient = p.client(c)
	}
	clients.RetryMaxAttempts = p.attempts
	clients.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = p.attempts, p.pause })
	}
	clients.APIOptions = append(clients.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Patience", p.once), middleware.Before)
	})
	return clients
}

func (p patience) client(c *awshttp.BuildableClient) *awshttp.BuildableClient {
	return c.WithTimeout(p.attempt).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = p.connect }).
		WithTransportOptions(func(t *http.Transport) { t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = p.connect, p.attempt })
}

// once bounds one call. No operation that is used streams its answer: when the call returns, it was read.
func (p patience) once(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, p.call)
	defer cancel()
	return next.HandleInitialize(ctx, in)
}
