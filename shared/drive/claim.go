package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// probeFor is how long a probe of an open breaker may take to prove that its tasks run.
const probeFor = 15 * time.Minute

// shortestLife is how long a claim is taken to last however little was granted, so that one drive does not renew it over and over.
const shortestLife = 20 * time.Second

// How long to leave an effect alone that failed in passing, and a token that was refused.
const (
	soon  = 2 * time.Second
	later = time.Minute
)

// reserve takes a slot.
func (r *drive) reserve(ctx context.Context, a session.Reserve) (done bool) {
	if a.To.OutpostID != r.job.Outpost.ID { // an account's token sees every outpost; slots, capacity and token are this one's
		r.res.Wait = session.Wait{Why: "the session waits in another outpost"}
		return true
	}
	if a.Probe != "" {
		err := r.Breakers.Probe(ctx, r.job.Outpost.ID, a.Probe, r.job.Outpost.Breakers[a.Probe], r.v.Now.Add(probeFor))
		if errors.Is(err, lease.ErrLost) { // another session probes it; there may be other choices
			r.open(a.Probe)
			return false
		}
		if err != nil {
			r.blocked(err)
			return true
		}
	}
	a.To.Epoch, a.To.Writer = r.NewID(), r.writer
	err := r.Leases.Reserve(ctx, a.To, r.job.Outpost.Config.MaxSessions)
	switch {
	case err == nil:
		r.wrote(a.To)
		return false
	case errors.Is(err, lease.ErrAtCapacity), errors.Is(err, lease.ErrDraining):
		r.res.Full, r.res.Wait = true, session.Wait{Why: err.Error()}
		return true
	}
	return r.notWritten(ctx, err)
}

// claim makes or renews Devin's claim. The answer is a queue entry as well.
func (r *drive) claim(ctx context.Context, a session.Claim) {
	id, out := r.job.SessionID, r.job.Outpost
	began := r.Clock.Now()
	r.claimed = true // until the answer says that it is not, it may be
	c, err := out.Fleet.Claim(ctx, id, out.Terms.AcceptorID)
	r.v.Entry.Reading = session.Unread
	switch {
	case err == nil:
	case errors.Is(err, outposts.ErrClaimLost):
		r.claimed = false
		r.v.Try = session.Try{Kind: session.ClaimLost}
		return
	case errors.Is(err, outposts.ErrNotFound):
		r.claimed = false
		r.v.Try = session.Try{Kind: session.ClaimUnknown}
		return
	case errors.Is(err, outposts.ErrMalformed): // it may be ours all the same
		r.v.Try = session.Try{Kind: session.Granted, Grant: session.Grant{Began: began, Life: shortestLife, Fault: "the claim's answer cannot be read"}}
		r.Log.Warn("claim answer unreadable", "session_id", id, "outpost_id", out.ID, "error", err.Error())
		return
	case a.Encrypt && refused(err): // else a session that the service will not give would hold its slot for ever
		r.v.Try = session.Try{Kind: session.Unservable, Reason: err.Error()}
		return
	default:
		r.v.Try = r.unclear(err)
		return
	}
	r.v.Entry = Entry(c.Entry, began)
	r.v.Entry.Phase = session.PhaseClaimed // whatever the row says: the call is a compare-and-set, and it succeeded
	g := session.Grant{Status: c.Status, Platform: c.Platform, Began: began, Life: max(c.Life, shortestLife), GatewayURL: c.GatewayURL, RemoteSHA: c.RemoteSHA,
		Restricted: r.v.Entry.Restricted, Fault: fault(c, id, out)}
	if a.Encrypt && g.Fault == "" {
		g.Ciphertext, err = r.Sealer.Seal(ctx, out.ID, id, c.ConnectToken)
	}
	switch {
	case errors.Is(err, seal.ErrTooLong):
		r.v.Try = session.Try{Kind: session.Unservable, Reason: err.Error()}
	case err != nil:
		r.v.Try = r.unclear(err)
	default:
		r.v.Try = session.Try{Kind: session.Granted, Grant: g}
	}
}

// refused says whether the service said no in a way that repeating the call will not change.
func refused(err error) bool {
	var no *outposts.RefusedError
	return errors.As(err, &no) && no.Status >= 400
}

// fault says why a claim cannot be served; empty = it can.
func fault(c outposts.Claim, sessionID string, out Outpost) string {
	u, err := url.Parse(c.GatewayURL)
	switch {
	case c.SessionID != sessionID:
		return "the claim's answer is for another session"
	case c.AcceptorID != out.Terms.AcceptorID:
		return "the claim's answer names another acceptor"
	case c.OutpostID != out.ID:
		return "the claim's answer is for another outpost"
	case c.ConnectToken == "":
		return "the claim came without a connect token"
	case c.GatewayURL == "":
		return "the claim came without a gateway"
	case err != nil || u.Host == "" || (u.Scheme != "wss" && !(u.Scheme == "ws" && loopback(u.Hostname()))):
		return "the claim's gateway is no wss:// URL"
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// release gives the claim back; that it was no longer ours is as good, and so is a refusal: what nobody renews runs out.
func (r *drive) release(ctx context.Context) {
	if r.passed(ctx) {
		return
	}
	err := r.job.Outpost.Fleet.Release(ctx, r.job.SessionID, r.job.Outpost.Terms.AcceptorID)
	if refused(err) {
		r.Log.Warn("release refused, the claim runs out by itself", "session_id", r.job.SessionID, "outpost_id", r.job.Outpost.ID, "error", err.Error())
	}
	if givenBack(err) || refused(err) {
		r.v.Try = session.Try{Kind: session.Released}
		if !r.v.Lease.Active() {
			r.Log.Warn("orphan claim released", "session_id", r.job.SessionID, "outpost_id", r.job.Outpost.ID)
			r.Metrics.Count(r.job.Outpost.ID, telemetry.Orphans, 1)
		}
		return
	}
	r.v.Try = r.unclear(err)
}

// givenBack says whether a claim is no longer ours after a release that answered so.
func givenBack(err error) bool {
	return err == nil || errors.Is(err, outposts.ErrClaimLost) || errors.Is(err, outposts.ErrNotFound)
}

// passed says whether the life that is to be given back is over already, so that a claim would be another life's; then the lease is looked at anew. It is asked at the
// last moment: whoever stalled may have slept through all of it.
func (r *drive) passed(ctx context.Context) bool {
	now, err := r.Leases.Get(ctx, r.job.SessionID)
	if err != nil {
		r.v.Try = r.unclear(err)
		return true
	}
	old := r.v.Lease
	if (now == nil) == (old == nil) && (now == nil || (now.Epoch == old.Epoch && now.Rev == old.Rev)) {
		return false
	}
	r.anew(now)
	return true
}

// unclear is the answer of an effect that may have happened or not; it says when to try again.
func (r *drive) unclear(err error) session.Try {
	r.blocked(err)
	pause := soon
	var limited *outposts.RateLimitedError
	switch {
	case errors.As(err, &limited) && limited.RetryAfter > 0:
		return session.Try{Kind: session.Unclear, Reason: err.Error(), Until: r.Clock.Now().Add(limited.RetryAfter + time.Duration(r.Jitter()*float64(soon)))}
	case errors.Is(err, outposts.ErrUnauthorized):
		pause = later
	}
	return session.Try{Kind: session.Unclear, Reason: fmt.Sprint(err), Until: r.later(pause)}
}
