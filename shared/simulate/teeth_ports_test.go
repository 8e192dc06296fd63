//go:build mutants

package simulate

import (
	"context"
	"log/slog"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// The wrappers of ports that mutants replace.
type (
	mutantStore struct {
		lease.Store
		w       *world
		save    func(s mutantStore, ctx context.Context, to session.Lease) error
		reserve func(s mutantStore, ctx context.Context, to session.Lease, max int) error
		end     func(s mutantStore, ctx context.Context, to session.Lease) error
		health  func(lease.Health) lease.Health
		counter func(outpost string, c lease.Counter) lease.Counter
	}
	mutantFleet struct {
		functions.Fleet
		w      *world
		shows  func(outposts.Entry) outposts.Entry
		list   func(outposts.ListQuery) bool // false = nothing is listed
		claim  func(outposts.Claim) outposts.Claim
		failed func(*world, error) error
	}
	mutantTasks struct {
		functions.Tasks
		launch func(tasks.Launch) tasks.Launch
	}
	plainSealer struct{ drive.Sealer }
	loudSealer  struct {
		drive.Sealer
		log *slog.Logger
	}
	deafOffers struct{}
)

func (s mutantStore) Save(ctx context.Context, to session.Lease) error {
	if s.save == nil {
		return s.Store.Save(ctx, to)
	}
	return s.save(s, ctx, to)
}

func (s mutantStore) Reserve(ctx context.Context, to session.Lease, max int) error {
	if s.reserve == nil {
		return s.Store.Reserve(ctx, to, max)
	}
	return s.reserve(s, ctx, to, max)
}

func (s mutantStore) End(ctx context.Context, to session.Lease) error {
	if s.end == nil {
		return s.Store.End(ctx, to)
	}
	return s.end(s, ctx, to)
}

func (s mutantStore) Health(ctx context.Context, id string) (lease.Health, error) {
	h, err := s.Store.Health(ctx, id)
	if s.health != nil {
		h = s.health(h)
	}
	return h, err
}

func (s mutantStore) Counter(ctx context.Context, id string) (lease.Counter, error) {
	c, err := s.Store.Counter(ctx, id)
	if s.counter != nil {
		c = s.counter(id, c)
	}
	return c, err
}

func (f mutantFleet) Claim(ctx context.Context, id, who string) (outposts.Claim, error) {
	c, err := f.Fleet.Claim(ctx, id, who)
	if err == nil && f.claim != nil {
		c = f.claim(c)
	}
	return c, err
}

func (f mutantFleet) Get(ctx context.Context, id string) (outposts.Entry, error) {
	e, err := f.Fleet.Get(ctx, id)
	if err != nil && f.failed != nil {
		err = f.failed(f.w, err)
	}
	if err == nil && f.shows != nil {
		e = f.shows(e)
	}
	return e, err
}

func (f mutantFleet) List(ctx context.Context, q outposts.ListQuery) (outposts.Listing, error) {
	l, err := f.Fleet.List(ctx, q)
	if f.list != nil && !f.list(q) {
		return outposts.Listing{}, nil
	}
	for i := range l.Entries {
		if f.shows != nil {
			l.Entries[i] = f.shows(l.Entries[i])
		}
	}
	return l, err
}

func (t mutantTasks) Run(ctx context.Context, l tasks.Launch) session.Try {
	if t.launch != nil {
		l = t.launch(l)
	}
	return t.Tasks.Run(ctx, l)
}

func (s plainSealer) Seal(ctx context.Context, outpost, id string, token outposts.Secret) (string, error) {
	text, err := s.Sealer.Seal(ctx, outpost, id, token)
	return text + token.Reveal(), err
}

func (s loudSealer) Seal(ctx context.Context, outpost, id string, token outposts.Secret) (string, error) {
	s.log.Info("sealing", "token", token.Reveal())
	return s.Sealer.Seal(ctx, outpost, id, token)
}

func (deafOffers) Send(context.Context, []events.Offer) error { return nil }

func stored(m mutantStore) func(*world, functions.Kit) functions.Kit {
	return func(w *world, k functions.Kit) functions.Kit {
		s := m
		s.Store, s.w = k.Store, w
		k.Store = s
		return k
	}
}

func fleeted(m mutantFleet) func(*world, functions.Kit) functions.Kit {
	return func(w *world, k functions.Kit) functions.Kit {
		inner := k.Fleet
		k.Fleet = func(o config.Outpost) functions.Fleet {
			f := m
			f.Fleet, f.w = inner(o), w
			return f
		}
		return k
	}
}

func tasked(m func(*world) mutantTasks) func(*world, functions.Kit) functions.Kit {
	return func(w *world, k functions.Kit) functions.Kit {
		inner, t := k.Tasks, m(w)
		k.Tasks = func(list []config.Outpost) functions.Tasks {
			t.Tasks = inner(list)
			return t
		}
		return k
	}
}
