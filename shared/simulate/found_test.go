package simulate

import (
	"fmt"
	"testing"
	"time"
)

// What the simulator has found, each as a kind of weather in which it showed within a few dozen worlds.

// A slot counter was set to what a lagging index showed, by sweeps that followed one another within seconds, or that counted leases which began and ended meanwhile.
func TestCounterIsNotSetToWhatALaggingIndexShows(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 40, edit: func(p *plan) {
		fair()(p)
		p.indexLags, p.doubled = 0.6, 0.5
	}}, 60)
	clean(t, Options{Seed: 1, Sessions: 40, edit: func(p *plan) {
		fair()(p)
		p.callFaults, p.mix = 0.1, []Fault{StallBefore}
	}}, 60)
}

// Two invocations sent the RunTask of one attempt; one was refused, took that for the end of the attempt, and gave the claim back while the other's task began.
func TestRefusalEndsNoAttemptThatAnotherInvocationIsLaunching(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 40, edit: crowded}, 60)
}

// crowded is weather in which several invocations look at one session at once, and calls are refused.
func crowded(p *plan) {
	fair()(p)
	p.callFaults, p.mix, p.messageDoubled = 0.15, []Fault{Throttled, StallAfter}, 0.5
	for i := range p.config {
		p.config[i].MaxFailures = 1
	}
}

// A claim that its caller had given up landed after the lease had ended, on a session that counts as running and whose claim so never lapses.
func TestClaimThatLandsAfterTheEndIsGivenBack(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 40, edit: func(p *plan) {
		fair()(p)
		p.callFaults, p.mix, p.steals = 0.1, []Fault{LandsLate}, 0.3
	}}, 60)
}

// Nothing may depend on how long a function lives: each is cut at its time limit, or lives on after it.
func TestFunctionsThatAreCutOrLiveOnHarmNothing(t *testing.T) {
	t.Parallel()
	for _, zombies := range []float64{0, 1} {
		clean(t, Options{Seed: 1, Sessions: 30, edit: func(p *plan) {
			fair()(p)
			p.callFaults, p.mix, p.zombies = 0.15, []Fault{StallBefore, StallAfter}, zombies
			p.workerDies, p.slow = 0.3, 0.2
			p.calmAfter = p.arrivals + time.Hour
		}}, 40)
	}
}

// An outpost whose API did not answer took all of sweep's time, and the outposts after it were not looked at.
func TestOutpostThatDoesNotAnswerKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 120, edit: func(p *plan) {
		fair("claim")(p)
		first := p.config[0]
		first.MaxSessions = 40
		p.config, p.width, p.calmAfter = nil, 32, p.arrivals+40*time.Minute
		for i := range 6 {
			first.ID = fmt.Sprintf("outpost_env-%d", i+1)
			p.config = append(p.config, first)
		}
		p.hangs = []window{{5 * time.Minute, 2 * time.Hour, "outpost_env-1"}, {5 * time.Minute, 2 * time.Hour, "outpost_env-2"}}
	}}, 20)
}

// With claim broken and an outpost that was always nearly full, each slot that came free waited for the next sweep, so that one or another was always free beside those
// who waited longest behind others.
func TestSlotsDoNotStandFreeInTurnWhileClaimIsBroken(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 250, edit: crammed}, 40)
}

// crammed is weather in which claim never runs and sessions wait for slots that come free now and then.
func crammed(p *plan) {
	fair("claim")(p)
	p.arrivals, p.calmAfter = 10*time.Minute, 30*time.Minute
	p.config = p.config[:1]
	p.config[0].MaxSessions = 30
}

// A launch that landed after its round had been given up was counted as two failures, and the session was given up before its budget was spent.
func TestLaunchThatLandsLateIsCountedOnce(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 40, edit: func(p *plan) {
		fair()(p)
		p.callFaults, p.mix, p.workerDies = 0.1, []Fault{LandsLate}, 0.8
		for i := range p.config {
			p.config[i].MaxFailures = 2
		}
	}}, 60)
}

// A worker whose launch had crashed before its task was written down was stopped because the outpost drained, without a look for it.
func TestWorkerThatNobodyWroteDownRunsToItsEndWhileTheOutpostDrains(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 40, edit: func(p *plan) {
		fair("observe")(p)
		p.callFaults, p.mix = 0.15, []Fault{CrashAfter}
		for at := 8 * time.Minute; at < p.calmAfter; at += 8 * time.Minute {
			p.later = append(p.later, change{at, p.config, p.config[0].ID}, change{at + 4*time.Minute, p.config, ""})
		}
	}}, 60)
}

// With claim broken and no capacity, sweep took as many sessions a minute as there were free slots, the oldest again and again: each was refused and gave its slot
// back at once.
func TestSessionsThatFindNoCapacityKeepNoOtherFromBeingTriedWhileClaimIsBroken(t *testing.T) {
	t.Parallel()
	clean(t, Options{Seed: 1, Sessions: 60, edit: func(p *plan) {
		fair("claim")(p)
		p.config = p.config[:1]
		p.config[0].MaxSessions = 3
		p.capacity = []window{{0, 40 * time.Minute, "spot"}, {0, 40 * time.Minute, "fargate"}}
		p.calmAfter = p.arrivals + 45*time.Minute
	}}, 20)
}
