package poll

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// bare is a fleet API whose listings are empty and bear no cursor.
type bare struct{ functions.Fleet }

func (bare) List(context.Context, outposts.ListQuery) (outposts.Listing, error) {
	return outposts.Listing{}, nil
}

// watched counts the streams that are opened.
type watched struct{ n int }

func (w *watched) Watch(context.Context, string, string, func(outposts.Event) error) (string, error) {
	w.n++
	return "", nil
}

// leaping is a clock that leaps over every sleep.
type leaping struct{ now time.Time }

func (l *leaping) Now() time.Time { return l.now }

func (l *leaping) Sleep(_ context.Context, d time.Duration) error {
	l.now = l.now.Add(d)
	return nil
}

func TestListingWithoutACursorIsNotWatchedFromTheBeginningOfTime(t *testing.T) {
	t.Parallel()
	w, clock := &watched{}, &leaping{time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)}
	began := clock.now
	list := []config.Outpost{{ID: "outpost_env-1", MaxSessions: 1, Watch: true}}
	err := Handler{Kit: functions.Kit{
		Outposts: func(context.Context) ([]config.Outpost, error) { return list, nil },
		Fleet:    func(config.Outpost) functions.Fleet { return bare{} },
		Watcher:  func(config.Outpost) functions.Watcher { return w },
		Tasks:    func([]config.Outpost) functions.Tasks { return nil },
		Store:    &lease.Memory{}, Offers: none{}, Clock: clock, Jitter: func() float64 { return 0 },
		FanOut: oneByOne, Log: slog.New(slog.DiscardHandler),
	}}.Handle(t.Context())
	if w.n != 0 || err != nil || clock.now.Sub(began) != watchFor {
		t.Errorf("%d streams, %v, after %s", w.n, err, clock.now.Sub(began))
	}
}

// listing is a fleet API with these sessions in its queue.
type listing struct {
	functions.Fleet
	ids []string
}

func (l listing) List(context.Context, outposts.ListQuery) (out outposts.Listing, err error) {
	for _, id := range l.ids {
		out.Entries = append(out.Entries, outposts.Entry{SessionID: id, OutpostID: "outpost_env-1", Phase: session.PhasePending, Status: session.StatusPending, Platform: "linux"})
	}
	return out, nil
}

// partly is a store that cannot read some leases.
type partly struct {
	lease.Store
	unread []string
}

func (p partly) Get(ctx context.Context, id string) (*session.Lease, error) {
	if slices.Contains(p.unread, id) {
		return nil, errors.New("cannot be read")
	}
	return p.Store.Get(ctx, id)
}

// sent keeps the sessions that are offered.
type sent []string

func (s *sent) Send(_ context.Context, list []events.Offer) error {
	for _, o := range list {
		*s = append(*s, o.SessionID)
	}
	return nil
}

func TestLeaseThatCannotBeReadKeepsNoOtherSessionBackAndManyEndTheListing(t *testing.T) {
	t.Parallel()
	ids := []string{"devin-1", "devin-2", "devin-3", "devin-4", "devin-5"}
	for _, c := range []struct {
		unread []string
		want   sent
		fails  bool
	}{
		{ids[:1], sent{"devin-2", "devin-3", "devin-4", "devin-5"}, false},
		{ids[:3], sent{"devin-4", "devin-5"}, false},
		{ids[:4], nil, true},
	} {
		var got sent
		list := []config.Outpost{{ID: "outpost_env-1", MaxSessions: 9}}
		err := Handler{Kit: functions.Kit{
			Outposts: func(context.Context) ([]config.Outpost, error) { return list, nil },
			Fleet:    func(config.Outpost) functions.Fleet { return listing{ids: ids} },
			Tasks:    func([]config.Outpost) functions.Tasks { return nil },
			Store:    partly{&lease.Memory{}, c.unread}, Offers: &got, Clock: &leaping{time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)}, FanOut: oneByOne, Log: slog.New(slog.DiscardHandler),
		}}.Handle(t.Context())
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.fails {
			t.Errorf("with %v unread: %v (-want +got):\n%s", c.unread, err, diff)
		}
	}
}

func oneByOne(n, _ int, do func(int)) {
	for i := range n {
		do(i)
	}
}

func TestOldestIsTheOneThatIsKnownToWaitLongest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		list []session.Entry
		want time.Time
	}{
		{nil, time.Time{}},
		{[]session.Entry{{}}, time.Time{}},
		{[]session.Entry{{}, {CreatedAt: at.Add(1)}, {CreatedAt: at}, {CreatedAt: at.Add(2)}}, at},
	} {
		if got := oldest(c.list); !got.Equal(c.want) {
			t.Errorf("of %v: %v, want %v", c.list, got, c.want)
		}
	}
}

// none is an offer queue to which nothing is sent.
type none struct{}

func (none) Send(context.Context, []events.Offer) error { return nil }
