package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// world is a world that does not change but by what is done to it: every effect has one answer, and the service and ECS may contradict themselves.
type world struct {
	name    string
	entry   func(at time.Duration) session.Entry
	list    func(l *session.Lease, at time.Duration) session.Tasks // of the lease as it was at first
	claim   session.TryKind
	run     session.Try
	stop    session.TryKind
	release session.TryKind
}

// mostSteps is how many steps the longest way to rest may have; the driver stops at 60.
const mostSteps = 30

// walk carries a lease on in a world as the driver does, from one answer to the next, until there is only waiting left. Each step takes a few hundredths of a second.
// It answers how many steps there were, at most one more than there may be.
func walk(v session.View, at time.Duration, w world, tell func(session.Action)) (steps int) {
	first := v.Lease
	for steps = 1; steps <= mostSteps; steps++ {
		at += 30 * time.Millisecond
		v.Now = after(at)
		a := session.Next(v)
		tell(a)
		unclear := session.Try{Kind: session.Unclear, Until: after(at + 2*time.Second), Reason: "no answer"}
		switch a := a.(type) {
		case session.Wait, session.End:
			return steps
		case session.ReadEntry:
			v.Entry = w.entry(at)
		case session.ReadTasks:
			v.Tasks = w.list(first, at)
		case session.Reserve:
			a.To.Epoch = "epoch-2"
			v.Lease, v.Try = &a.To, session.Try{}
		case session.Save:
			if a.To.State == session.Launching && a.To.LaunchUntil != v.Lease.LaunchUntil {
				v.Limit = session.Clear
			}
			v.Lease, v.Try = &a.To, session.Try{}
		case session.Claim:
			kind := w.claim
			if kind == session.Unservable && !a.Encrypt {
				kind = session.Granted // what cannot be encrypted can be renewed
			}
			v.Entry = session.Entry{}
			switch v.Try = (session.Try{Kind: kind, Reason: "too long"}); kind {
			case session.Granted:
				v.Try = grant(at)
				if !a.Encrypt {
					v.Try = renewal(at)
				}
				v.Entry = ours(session.StatusRunning, at)
			case session.Unclear:
				v.Try = unclear
			}
		case session.RunTask:
			v.Tasks, v.Try = session.Tasks{}, w.run
			if w.run.Kind == session.Accepted {
				v.Try.ARN = fmt.Sprint("arn:task/new-", v.Lease.Attempt)
			}
			if w.run.Kind == session.Unclear {
				v.Try, v.Limit = unclear, session.Own
			}
		case session.StopTask:
			v.Try = session.Try{Kind: w.stop}
			for i := range v.Tasks.List {
				if w.stop == session.StopSent && v.Tasks.List[i].ARN == a.ARN {
					v.Tasks.List[i].Desired = "STOPPED"
				}
			}
		case session.Release:
			if v.Try = (session.Try{Kind: w.release}); w.release == session.Unclear {
				v.Try = unclear
			}
		}
	}
	return steps
}

func TestEveryLifeComesToRestWhateverTheWorldAnswers(t *testing.T) {
	t.Parallel()
	runs := []session.Try{{Kind: session.Accepted}, {Kind: session.Declined, Class: session.Retry, Reason: "no room"},
		{Kind: session.Declined, Class: session.Terminal, Breaker: true, Reason: "no image"}, {Kind: session.Conflict}, {Kind: session.Unclear}, {Kind: session.Unservable, Reason: "too large"}}
	var worlds []world
	for i, e := range entries() {
		for j, list := range lists() {
			if e.name == "unread" || list.name == "unread" || strings.HasSuffix(list.name, "by an event") {
				continue // a read is a read
			}
			for k, claim := range []session.TryKind{session.Granted, session.ClaimLost, session.ClaimUnknown, session.Unclear, session.Unservable} {
				w := world{entry: e.make, list: list.make, claim: claim, run: runs[(i+j+k)%len(runs)], stop: session.StopSent, release: session.Released}
				if (i+j+k)%2 == 1 {
					w.stop, w.release = session.StopFailed, session.Unclear
				}
				w.name = fmt.Sprintf("entry %s, tasks %s, claims %s, launches %s, stops %s", e.name, list.name, claim, w.run.Kind, w.stop)
				worlds = append(worlds, w)
			}
		}
	}
	for _, l := range leases() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			restless := 0
			for _, at := range moments {
				for _, w := range worlds {
					for _, known := range []bool{false, true} {
						v := view(l.make, at)
						if known { // as sweep hands it over
							v.Entry, v.Tasks = w.entry(at), w.list(l.make, at)
						}
						if walk(v, at, w, func(session.Action) {}) <= mostSteps {
							continue
						}
						if restless++; restless > 3 {
							continue
						}
						var steps []string
						walk(v, at, w, func(a session.Action) {
							step := strings.TrimPrefix(fmt.Sprintf("%T", a), "session.")
							if s, ok := a.(session.Save); ok {
								step += "(" + string(s.To.State) + ")"
							}
							if len(steps) < 12 {
								steps = append(steps, step)
							}
						})
						t.Errorf("no rest at %v, known: %v, %s:\n\t%s …", at, known, w.name, strings.Join(steps, ", "))
					}
				}
			}
			if restless > 3 {
				t.Errorf("nor in %d more of %d walks", restless-3, len(moments)*len(worlds)*2)
			}
		})
	}
}
