package outposts

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// DefaultBaseURL is where the service lives.
	DefaultBaseURL = "https://api.devin.ai"

	prefix         = "/opbeta/outposts"
	defaultTimeout = 10 * time.Second
	defaultSilence = time.Minute
	listBytes      = 16 << 20
	answerBytes    = 1 << 20
	errorBytes     = 64 << 10
)

// TokenSource gives the account token (cog_…). rejected is empty as a rule;
// after the service refused a token, the source is asked once more with that
// token, so that it can drop what it has cached and load a newer one.
type TokenSource func(ctx context.Context, rejected Secret) (Secret, error)

// Options configure a Client.
type Options struct {
	BaseURL   string           // empty = DefaultBaseURL
	Token     TokenSource      // required
	HTTP      *http.Client     // nil = one of our own; redirects are never followed
	Now       func() time.Time // required: the clock that Claim.Life is counted by
	UserAgent string           // empty = devin-outposts-aws
	Timeout   time.Duration    // of one HTTP exchange (a page, a claim); 0 = 10 s
	// Silence is how long a watch may bring nothing, not even the comments that
	// keep it open, before it counts as broken; 0 = 1 min.
	Silence time.Duration
}

// Client calls the fleet API. It is safe for concurrent use.
type Client struct {
	base      string
	token     TokenSource
	http      http.Client
	now       func() time.Time
	userAgent string
	timeout   time.Duration
	silence   time.Duration
}

// New makes a client. It panics when Token or Now is missing: that is a
// mistake in the program, not in its configuration.
func New(options Options) *Client {
	if options.Token == nil || options.Now == nil {
		panic("outposts: Options.Token and Options.Now are required")
	}
	client := &Client{
		base:      strings.TrimRight(cmp.Or(options.BaseURL, DefaultBaseURL), "/"),
		token:     options.Token,
		now:       options.Now,
		userAgent: cmp.Or(options.UserAgent, "devin-outposts-aws"),
		timeout:   cmp.Or(options.Timeout, defaultTimeout),
		silence:   cmp.Or(options.Silence, defaultSilence),
	}
	if options.HTTP != nil {
		client.http = *options.HTTP
	}
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// sessionPath escapes a session id into one path segment, whatever it holds.
func sessionPath(sessionID, action string) string {
	segment := url.PathEscape(sessionID)
	if strings.Trim(segment, ".") == "" {
		// "." and ".." would be taken for steps in the path.
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return prefix + "/devins/" + segment + action
}
