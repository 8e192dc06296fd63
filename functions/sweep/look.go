package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// sweep is the state of one outpost's sweep.
type sweep struct {
	Handler
	run     *functions.Run
	o       functions.Outpost
	memo    lease.Memo
	tasks   listed
	leases  map[string]session.Lease // by session, as an index that may lag shows them
	entries map[string]session.Entry // our claims, by session

	mu sync.Mutex
}

// claimKey begins the keys under which sightings of claims are remembered.
const claimKey = "claim:"

// claimsEvery is how often our claims are listed when nothing is active.
const claimsEvery = 10 * time.Minute

// readClaims lists our claims, when something is active or it is time. An empty or failed list proves nothing: what it does not show is read one by one.
func (s *sweep) readClaims(ctx context.Context) {
	now := s.Clock.Now()
	busy := len(s.leases) > 0 || len(s.tasks.of) > 0
	for key := range s.o.Health.Memo.Orphans { // a claim that was sighted is to be seen again
		busy = busy || strings.HasPrefix(key, claimKey)
	}
	if s.o.Fleet == nil || s.o.Quiet() > 0 || (!busy && now.Before(s.memo.NextClaims)) {
		return
	}
	list, err := s.o.Fleet.List(ctx, outposts.ListQuery{Outpost: s.o.ID, Phase: outposts.PhaseClaimed, AcceptorID: s.AcceptorID})
	if err != nil {
		s.keep(func(key string) bool { return strings.HasPrefix(key, claimKey) })
		s.Log.Warn("claims not listed", "outpost_id", s.o.ID, "error", err.Error())
		if errors.Is(err, outposts.ErrUnauthorized) {
			s.Metrics.Count(s.o.ID, telemetry.TokenRejected, 1)
		}
		return
	}
	if !busy {
		s.memo.NextClaims = now.Add(claimsEvery)
	}
	for _, raw := range list.Entries {
		if e := drive.Entry(raw, now); e.OutpostID == s.o.ID && e.AcceptorID == s.AcceptorID {
			s.entries[e.SessionID] = e
		}
	}
}

// look drives every session that has a lease, a live task or a claim of ours, and answers how many leases ended.
func (s *sweep) look(ctx context.Context) (ended int) {
	if !s.tasks.ok {
		s.keep(func(key string) bool { return strings.HasPrefix(key, "arn:") })
	}
	jobs := s.jobs()
	skipped := make([]bool, len(jobs))
	s.FanOut(len(jobs), sessionsAtOnce, func(i int) {
		if s.run.OutOfTime() {
			skipped[i] = true
			return
		}
		res := s.run.Driver.Drive(ctx, jobs[i])
		s.mu.Lock()
		defer s.mu.Unlock()
		skipped[i] = errors.Is(res.Err, drive.ErrOutOfTime)
		if res.Ended {
			ended++
			delete(s.leases, jobs[i].SessionID)
		} else if res.Lease.Active() {
			s.leases[jobs[i].SessionID] = *res.Lease
			s.watch(*res.Lease)
		}
	})
	s.memo.Resume = ""
	if i := slices.Index(skipped, true); i >= 0 {
		s.memo.Resume = jobs[i].SessionID
		s.Log.Warn("sweep out of time, the next one goes on", "outpost_id", s.o.ID, "sessions", len(jobs), "next", s.memo.Resume)
	}
	return ended
}

// jobs are the sessions to look at, beginning where the last run had no time left.
func (s *sweep) jobs() []drive.Job {
	ids := map[string]bool{}
	for id := range s.leases {
		ids[id] = true
	}
	for id, list := range s.tasks.of {
		if slices.ContainsFunc(list, session.Task.Live) {
			ids[id] = true
		}
	}
	for id := range s.entries {
		ids[id] = true
	}
	order := make([]string, 0, len(ids))
	for id := range ids {
		order = append(order, id)
	}
	slices.Sort(order)
	if i := slices.IndexFunc(order, func(id string) bool { return id >= s.memo.Resume }); i > 0 {
		order = append(order[i:], order[:i]...)
	}
	jobs := make([]drive.Job, 0, len(order))
	for _, id := range order {
		jobs = append(jobs, s.job(id))
	}
	return jobs
}

// job gathers what is known of one session, and remembers the orphans among it.
func (s *sweep) job(id string) drive.Job {
	l, held := s.leases[id]
	j := drive.Job{SessionID: id, Outpost: s.o.Outpost, Until: s.run.Until, Patience: functions.SweepPatience, Entry: s.entries[id]}
	if !held && j.Entry.Reading == session.Present {
		j.Entry.Orphan = s.sighted(claimKey + id)
	}
	if !s.tasks.ok {
		j.Tasks = session.Tasks{Reading: session.Failing, At: s.tasks.at}
		return j
	}
	list := slices.Clone(s.tasks.of[id])
	named := false
	for i, t := range list {
		mine := held && (t.AttemptID == l.AttemptID() || t.ARN == l.TaskARN)
		named = named || mine
		if t.Live() && !mine {
			list[i].Orphan = s.sighted(t.ARN)
		}
	}
	// A list that lacks the lease's own task may lag, or not know its family: the session's own is asked for, and what this one says of others is kept.
	j.Tasks = session.Tasks{Reading: session.Present, Partial: held && !named, At: s.tasks.at, List: list}
	return j
}

// keep keeps sightings of what this sweep could not look for: a read that failed says nothing.
func (s *sweep) keep(which func(key string) bool) {
	for key, first := range s.o.Health.Memo.Orphans {
		if which(key) {
			s.remembered()[key] = first
		}
	}
}

// remembered are the sightings as the next sweep is to know them.
func (s *sweep) remembered() map[string]time.Time {
	if s.memo.Orphans == nil {
		s.memo.Orphans = map[string]time.Time{}
	}
	return s.memo.Orphans
}

// sighted answers when an earlier sweep first saw an orphan, zero if none did, and remembers it for the next.
func (s *sweep) sighted(key string) time.Time {
	first := s.o.Health.Memo.Orphans[key]
	if s.remembered()[key] = first; first.IsZero() {
		s.memo.Orphans[key] = s.Clock.Now().UTC()
	}
	return first
}
