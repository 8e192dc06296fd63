package outpoststest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Op names an operation of the service.
type Op string

// The operations. OpAny in a Fault stands for all but the last two.
const (
	OpAny          Op = ""
	OpList         Op = "list"
	OpWatch        Op = "watch"
	OpGet          Op = "get"
	OpClaim        Op = "claim"
	OpRelease      Op = "release"
	OpOutposts     Op = "outposts"
	OpGateway      Op = "gateway"
	OpDistribution Op = "distribution"
)

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of fault, and the operations they fit.
const (
	FaultStatus    FaultKind = "status"    // every: answers Fault.Status and does nothing
	FaultDelay     FaultKind = "delay"     // every: waits Fault.Delay, then goes on
	FaultHangUp    FaultKind = "hang-up"   // every: cuts the connection and does nothing
	FaultDrop      FaultKind = "drop"      // every but watch and gateway: does it, then cuts the connection
	FaultMalformed FaultKind = "malformed" // list: adds rows nobody can read; get, claim: the entry is such a row
	FaultSteal     FaultKind = "steal"     // claim: another acceptor was quicker
	FaultBare      FaultKind = "bare"      // claim: grants it, without token and gateway
	FaultForeign   FaultKind = "foreign"   // claim: grants it, and answers with another session's id
	FaultSilent    FaultKind = "silent"    // watch: stays open and delivers nothing
	FaultCorrupt   FaultKind = "corrupt"   // distribution: one byte of the binary is another
	FaultHTML      FaultKind = "html"      // distribution: an HTML error page, with status 200
	FaultCut       FaultKind = "cut"       // distribution: half of the answer
	FaultChecksum  FaultKind = "checksum"  // distribution: the checksum is of something else
)

// Fault is something that goes wrong. Kinds that cannot happen to an operation
// do nothing to it.
type Fault struct {
	Op        Op        `json:"op"`
	Kind      FaultKind `json:"kind"`
	SessionID string    `json:"session_id"` // empty = any
	Times     int       `json:"times"`      // how often; 0 = until ClearFaults
	// LaterPages spares list requests without a cursor: the first page comes,
	// the second does not.
	LaterPages bool `json:"later_pages"`

	Status     int           `json:"status"`      // of FaultStatus; 0 = 503
	RetryAfter string        `json:"retry_after"` // of FaultStatus: the header, when not empty
	Delay      time.Duration `json:"-"`           // of FaultDelay
}

var faultOps = map[FaultKind][]Op{
	FaultMalformed: {OpList, OpGet, OpClaim},
	FaultSteal:     {OpClaim}, FaultBare: {OpClaim}, FaultForeign: {OpClaim},
	FaultSilent:  {OpWatch},
	FaultCorrupt: {OpDistribution}, FaultHTML: {OpDistribution}, FaultCut: {OpDistribution}, FaultChecksum: {OpDistribution},
	FaultDrop:   {OpList, OpGet, OpClaim, OpRelease, OpOutposts, OpDistribution},
	FaultStatus: nil, FaultDelay: nil, FaultHangUp: nil, // fit every operation
}

var ops = []Op{OpAny, OpList, OpWatch, OpGet, OpClaim, OpRelease, OpOutposts, OpGateway, OpDistribution}

// Known says whether the fault's operation and kind exist and fit each other,
// and its numbers make sense.
func (f Fault) Known() bool {
	fits, exists := faultOps[f.Kind]
	return exists && slices.Contains(ops, f.Op) && (fits == nil || f.Op == OpAny || slices.Contains(fits, f.Op)) &&
		f.Times >= 0 && (f.Status == 0 || f.Status >= 200 && f.Status <= 599)
}

// Fault switches a fault on. Faults that fit the same call happen in the order
// in which they were switched on, one a call; a delay goes along with another.
// It panics when the fault is not Known.
func (s *Server) Fault(fault Fault) {
	if !fault.Known() {
		panic(fmt.Sprintf("outpoststest: no such fault: %+v", fault))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault)
}

// ClearFaults switches all faults off.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// strike counts the call and uses up the faults that hit it: a delay, and the
// first of another kind.
func (s *Server) strike(op Op, sessionID string, laterPage bool) (delay time.Duration, hit Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	kept := s.faults[:0:0]
	for _, fault := range s.faults {
		strikes := fault.hits(op, sessionID, laterPage) && (fault.Kind == FaultDelay && delay == 0 || fault.Kind != FaultDelay && hit.Kind == "")
		if !strikes {
			kept = append(kept, fault)
			continue
		}
		if fault.Kind == FaultDelay {
			delay = fault.Delay
		} else {
			hit = *fault
		}
		if fault.Times--; fault.Times != 0 { // 0 turned -1: until cleared
			kept = append(kept, fault)
		}
	}
	s.faults = kept
	return delay, hit
}

func (f *Fault) hits(op Op, sessionID string, laterPage bool) bool {
	fits := faultOps[f.Kind]
	return (f.Op == op || f.Op == OpAny && op != OpGateway && op != OpDistribution) &&
		(fits == nil || slices.Contains(fits, op)) &&
		(f.SessionID == "" || f.SessionID == sessionID) &&
		(!f.LaterPages || laterPage)
}

// faulty lets faults happen to a handler; those that change an answer rather
// than replace it are handed on.
func (s *Server) faulty(op Op, sessionID func(*http.Request) string, next func(http.ResponseWriter, *http.Request, Fault)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		delay, fault := s.strike(op, sessionID(r), r.URL.Query().Has("cursor"))
		if delay > 0 {
			timer := time.NewTimer(delay)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				return
			case <-s.closing:
				return
			}
		}
		switch fault.Kind {
		case FaultStatus:
			if fault.RetryAfter != "" {
				w.Header().Set("Retry-After", fault.RetryAfter)
			}
			fail(cmp.Or(fault.Status, http.StatusServiceUnavailable), "simulated failure").write(w)
		case FaultHangUp:
			panic(http.ErrAbortHandler)
		case FaultDrop:
			next(unheard{http.Header{}}, r, Fault{})
			panic(http.ErrAbortHandler)
		default:
			next(w, r, fault)
		}
	}
}

// unheard swallows an answer.
type unheard struct{ header http.Header }

func (u unheard) Header() http.Header         { return u.header }
func (u unheard) Write(b []byte) (int, error) { return len(b), nil }
func (u unheard) WriteHeader(int)             {}
