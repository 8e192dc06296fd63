package main

import (
	"fmt"
	"io"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/simulate"
)

// tellEvery is how often a long run tells how far it is.
const tellEvery = 10 * time.Second

// progress tells how far a run of many worlds is, and of each world that broke a rule as soon as it is known.
type progress struct {
	of, done, failed int
	began, told      time.Time
	out              io.Writer
}

func (p *progress) add(r simulate.Report, now time.Time) {
	p.done++
	if len(r.Violations) > 0 {
		p.failed++
		if p.of > 1 {
			fmt.Fprintf(p.out, "seed %d broke a rule: %s\n", r.Options.Seed, r.Violations[0].Rule)
		}
	}
	if now.Sub(p.told) < tellEvery || p.done == p.of {
		return
	}
	p.told = now
	rate := float64(p.done) / now.Sub(p.began).Seconds()
	left := time.Duration(float64(p.of-p.done) / rate * float64(time.Second))
	fmt.Fprintf(p.out, "%d of %d seeds, %d broke a rule, %.0f seeds a second, about %s left\n", p.done, p.of, p.failed, rate, left.Round(time.Second))
}
