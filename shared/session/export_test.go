package session

import "time"

// EachEvidence tells how many reads, how far apart, each doubt needs.
func EachEvidence(tell func(kind DoubtKind, reads int, apart time.Duration, why string)) {
	for _, kind := range []DoubtKind{SeemsSuspended, SeemsOver, SeemsVanished, SeemsStolen, SeemsGone, SeemsMute} {
		tell(kind, evidence[kind].reads, evidence[kind].apart, evidence[kind].why)
	}
}
