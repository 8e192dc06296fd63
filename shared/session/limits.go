package session

import "time"

// The core's times. Those of the service are in the package outposts.
const (
	// LaunchWindow is how long after its write an attempt may send RunTask.
	LaunchWindow = 30 * time.Second
	// LateLaunch is how long after LaunchUntil a RunTask that timed out may still take effect.
	LateLaunch = 150 * time.Second
	// StartLimit is how long a task may take from its launch to RUNNING; a GPU machine from nothing needs about twelve minutes.
	StartLimit = 20 * time.Minute
	// ConnectLimit is how long a running worker may take to connect to the gateway.
	ConnectLimit = 10 * time.Minute
	// ProvenAfter is how long a worker must have served for earlier failures to be forgotten.
	ProvenAfter = 10 * time.Minute
	// SettleFor is how long the session's status may lag a clean exit of the remote, and SettleEvery the step of reading it again.
	SettleFor, SettleEvery = 15 * time.Second, 3 * time.Second
	// StaleDoubt is how old a read may be to count together with a new one. A sweep that is out of time comes back to a lease within a few minutes.
	StaleDoubt = 10 * time.Minute
	// OrphanAfter is how long apart two sightings of an orphan must be.
	OrphanAfter = time.Minute
	// KeepEnded is how long an ended lease is kept as history.
	KeepEnded = 7 * 24 * time.Hour
	// ClaimLimit is how long a slot is held for a session that cannot be claimed, or whose token cannot be encrypted.
	ClaimLimit = 2 * time.Minute
	// ReadLimit is how long a session whose attempt is over is held when its queue entry is answered and cannot be read.
	ReadLimit = 5 * time.Minute
	// Fresh is how old a read of a queue entry may be for a claim to rest on it.
	Fresh = 30 * time.Second
	// LookAgain is when to look again at something that only news or a later sweep can change.
	LookAgain = time.Minute
)

// pause is how long to wait before the next launch after so many failures.
func pause(class Class, failures int) time.Duration {
	switch {
	case class == Terminal || failures == 0: // waiting would change nothing; the budget ends it
		return 0
	case class == Backoff:
		return min(time.Minute<<min(failures-1, 10), 10*time.Minute)
	case failures == 1:
		return 0
	default:
		return min(15*time.Second<<min(failures-2, 10), 5*time.Minute)
	}
}

// banned is how long a session that was given up or refused so many times in a row is not taken again.
func banned(times int) time.Duration {
	switch times {
	case 0, 1:
		return time.Minute
	case 2:
		return 5 * time.Minute
	default:
		return 30 * time.Minute
	}
}
