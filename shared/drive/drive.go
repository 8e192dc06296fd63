package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// ErrOutOfTime: there was more to do, and no time to begin it.
var ErrOutOfTime = errors.New("the time of this invocation is nearly up")

// Limits of one drive. A life needs about a dozen steps from offer to launch; a drive that needs many more is going in circles.
const (
	maxSteps = 60
	maxLost  = 5
)

// drive is the state of one Drive.
type drive struct {
	*Driver
	job     Job
	v       session.View
	res     Result
	writer  string        // names this drive in what it writes
	spent   time.Duration // of the job's patience
	lost    int           // fences lost
	steps   []events.StateChange
	claimed bool              // a claim of this drive stands in no lease yet
	ours    map[string]string // attempt id → ARN of tasks that this drive launched
}

// Drive looks after one session until there is nothing to do but wait.
func (d *Driver) Drive(ctx context.Context, job Job) Result {
	r := &drive{Driver: d, job: job, writer: d.NewID(), ours: map[string]string{}}
	r.v = session.View{Tasks: job.Tasks, Terms: job.Outpost.Terms}
	r.v.Terms.Capacity = slices.Clone(r.v.Terms.Capacity) // shared with other drives
	if err := r.read(ctx); err != nil {
		return Result{Err: err}
	}
	if l := r.v.Lease; l == nil || !job.Entry.At.Before(l.UpdatedAt) {
		r.v.Entry = job.Entry // else a life may have passed since it was read
	}
	r.run(ctx)
	r.res.Lease = r.v.Lease
	if len(r.steps) > 0 && d.Teller != nil {
		d.Teller.Tell(ctx, r.steps)
	}
	return r.res
}

// run observes, decides and applies, again and again.
func (r *drive) run(ctx context.Context) {
	for range maxSteps {
		r.v.Now = r.Clock.Now()
		action := next(r.v)
		if _, waiting := action.(session.Wait); !waiting && !r.job.Until.IsZero() && r.v.Now.After(r.job.Until) {
			r.res.Err = ErrOutOfTime
			return
		}
		if done := r.apply(ctx, action); done {
			return
		}
	}
	r.res.Err = fmt.Errorf("session %s: %d steps without an end, the last state is %s", r.job.SessionID, maxSteps, r.state())
	r.Log.Error("drive goes in circles", "session_id", r.job.SessionID, "state", r.state())
}

// apply does one action and says whether the drive is over.
func (r *drive) apply(ctx context.Context, action session.Action) (done bool) {
	switch a := action.(type) {
	case session.Wait:
		return r.wait(ctx, a)
	case session.ReadEntry:
		r.readEntry(ctx)
	case session.ReadTasks:
		r.readTasks(ctx)
	case session.Reserve:
		return r.reserve(ctx, a)
	case session.Claim:
		r.claim(ctx, a)
	case session.Save:
		return r.save(ctx, a)
	case session.RunTask:
		r.runTask(ctx)
	case session.StopTask:
		r.stopTask(ctx, a)
	case session.Release:
		r.release(ctx)
	case session.End:
		return r.end(ctx, a)
	default:
		panic(fmt.Sprintf("drive: no case for action %T", action))
	}
	return false
}

// wait waits within the job's patience and then looks anew; else the drive is over.
func (r *drive) wait(ctx context.Context, w session.Wait) (done bool) {
	pause := w.Until.Sub(r.v.Now)
	unasked := r.job.Retries && r.v.Try.Kind != session.Unclear
	if unasked || w.Until.IsZero() || r.spent+pause > r.job.Patience || (!r.job.Until.IsZero() && w.Until.After(r.job.Until)) {
		r.res.Wait = w
		return true
	}
	pause = max(pause, 10*time.Millisecond)
	r.spent += pause
	if err := r.Clock.Sleep(ctx, pause); err != nil {
		r.res.Wait, r.res.Err = w, err
		return true
	}
	r.res.Err = nil
	r.v.Entry, r.v.Tasks, r.v.Try = session.Entry{Orphan: r.v.Entry.Orphan}, session.Tasks{}, session.Try{}
	return false
}

// read reads the lease and forgets what was decided by the old one, and the queue entry, which may belong to a life that has passed. What is known of tasks stays
// true.
func (r *drive) read(ctx context.Context) error {
	l, err := r.Leases.Get(ctx, r.job.SessionID)
	if err != nil {
		return fmt.Errorf("session %s: %w", r.job.SessionID, err)
	}
	orphan := r.v.Entry.Orphan
	r.anew(l)
	r.v.Entry.Orphan = orphan
	return nil
}

// anew goes on with a lease that somebody else may have written.
func (r *drive) anew(l *session.Lease) {
	r.v.Lease, r.v.Try, r.v.Limit, r.v.Entry = l, session.Try{}, session.Foreign, session.Entry{}
}

func (r *drive) state() session.State {
	if r.v.Lease == nil {
		return session.None
	}
	return r.v.Lease.State
}

// later is a moment after now by about d, so that many who wait do not come back together.
func (r *drive) later(d time.Duration) time.Time {
	return r.Clock.Now().Add(d/2 + time.Duration(r.Jitter()*float64(d)))
}
