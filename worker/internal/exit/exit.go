// Package exit names the exit codes by which a worker tells the orchestrator how its session ended. The orchestrator decides
// by them alone whether to try again, so a code never changes its meaning; docs/worker.md tells people what to do about each.
package exit

import "errors"

// Code is a process exit code of the worker.
type Code int

// The codes. Whatever is not listed here comes from the operating system (137: killed for memory, for instance).
const (
	Over           Code = 0  // the session ended or went to sleep: the remote left with 0
	BadSettings    Code = 10 // the environment is incomplete or malformed, or the worker may not run as this user
	CannotDecrypt  Code = 11 // KMS would not give the connect token
	DownloadFailed Code = 12 // the remote could not be fetched
	Mismatch       Code = 13 // the remote was fetched, and is not what its checksum promises
	CannotStart    Code = 14 // the remote could not be executed
	SetupFailed    Code = 15 // OUTPOST_SETUP failed or took too long
	Unfit          Code = 16 // the machine lacks git, or cannot reach the gateway
	RemoteFailed   Code = 20 // the remote ended with a failure of its own
	Stopped        Code = 30 // a stop signal or the deadline came before the remote's own end
)

// Error is a failure that decides the exit code.
type Error struct {
	Code Code
	Err  error
}

// With makes err end the worker with code; nil stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the failure without its code.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the exit code err asks for: Over for nil, RemoteFailed for a failure that names none.
func CodeOf(err error) Code {
	if err == nil {
		return Over
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return RemoteFailed
}
