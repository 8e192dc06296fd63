package simulate

import (
	"context"
	"strconv"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// watchPort is the fleet API's stream of changes.
type watchPort struct{ w *world }

// changed tells those who watch that an entry changed.
func (f *fleet) changed(s *devin) {
	if !f.w.plan.watched {
		return
	}
	f.changes[s.outpost] = append(f.changes[s.outpost], s)
	for _, wake := range f.watchers[s.outpost] {
		wake()
	}
	f.watchers[s.outpost] = nil
}

// Watch implements functions.Watcher. A stream lasts some seconds here: how long a caller wants to watch is told in the machine's time, which does not pass.
func (p watchPort) Watch(_ context.Context, outpost, cursor string, handle func(outposts.Event) error) (string, error) {
	w, f := p.w, p.w.fleet
	if err := w.call(fleetAPI, "watch", outpost, time.Time{}, func() {}); err != nil {
		return cursor, p.w.apiError("watch "+outpost, "", outpost, err)
	}
	at, err := strconv.Atoi(cursor)
	if err != nil {
		at = 0
	}
	end := w.now + w.between(2*time.Second, 12*time.Second)
	if w.inject(StreamSilent, w.plan.silent) {
		w.current.sleep(end - w.now)
		return cursor, nil
	}
	for w.now < end {
		for ; at < len(f.changes[outpost]); at++ {
			if s := f.changes[outpost][at]; f.visible(s) {
				if err := handle(outposts.Event{Entry: f.entry(s), Cursor: strconv.Itoa(at + 1)}); err != nil {
					return strconv.Itoa(at), err
				}
			}
		}
		f.await(outpost, end)
	}
	return strconv.Itoa(at), nil
}

// await waits for a change, at most until the end.
func (f *fleet) await(outpost string, end time.Duration) {
	w, a := f.w, f.w.current
	woken := false
	wake := func() {
		if !woken {
			woken = true
			w.after(0, func() { w.resume(a) })
		}
	}
	f.watchers[outpost] = append(f.watchers[outpost], wake)
	w.at(end, wake)
	a.yield(struct{}{})
	a.alive()
}
