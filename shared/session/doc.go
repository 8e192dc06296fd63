// Package session is the pure core: everything known of one Devin session goes into a [View], and [Next] answers with the one next [Action].
// It reads no clock, does no I/O and knows no AWS type, so that every rule of a session's life can be read, tested and simulated here.
//
// # The life of a lease
//
//	state      meaning                                                                    leaves for
//	(none)     we hold nothing; the session waits in Devin's queue, if anywhere           reserved
//	reserved   a slot of the outpost is ours                                              claimed, stopping, ended
//	claimed    Devin's claim is ours; its encrypted connect token is in the lease         launching, stopping, ended
//	launching  an attempt has a name, a capacity choice and a limit (LaunchUntil);        running, stopping
//	           RunTask may have been sent, or ECS accepted and the task's ARN is known
//	running    the task runs                                                              stopping
//	stopping   the task stopped, never was, or was told to stop: what does it mean?       launching, ended
//	ended      no live task, claim released, slot given back; kept a week as history      reserved (a resume)
//
// docs/lifecycle.md has the diagram, and when each change of state is made; testdata/answers.txt says what Next answers to what.
//
// # What always holds
//
//   - Slots used equal the leases that have not ended, and never pass the maximum: reserving and ending each write lease and counter in one transaction.
//   - No RunTask without a claim that is ours, nor after LaunchUntil. An attempt whose RunTask may have landed late is not replaced before
//     LaunchUntil + [LateLaunch] and an empty list of the session's tasks.
//   - A task belongs to a lease by its attempt id, never by its session alone.
//   - A claim is released only when no task of the lease lives; until then it is renewed.
//   - No worker is stopped and no orphan reaped on the evidence of one read (see [Doubt]).
//
// # Who may write what
//
// Only the driver (shared/drive) applies actions, and every write is conditional on the revision the View was read at. The functions differ only in what wakes
// them: poll offers, claim starts lives, observe hears of tasks, sweep looks at everything once a minute and can complete every life alone.
package session
