// Package simulate runs the product in worlds of virtual time in which everything goes wrong, and judges whether what must always hold did. The core, the driver
// and the handlers of the functions are the real ones; the fleet API, ECS, the lease table, the offer queue, KMS, the schedules and the workers are simulated, and
// so is time: a day passes in seconds.
//
// # How a world runs
//
// A world is single-threaded. Every invocation of a function is a coroutine (iter.Pull) that runs until its next call to a port or to the clock; there it yields,
// and the loop goes on with whatever comes next in virtual time. A fan-out makes more coroutines. One random source decides everything, so that a seed replays
// exactly, and two seeds never meet the same order of things.
//
// At every call something may go wrong: it fails before or after it took effect, it times out and takes effect minutes later, the function stands still for minutes or
// is gone. Around the calls, messages and events are lost, doubled and late, lists and indexes lag, workers die, sessions change, others claim, capacity and whole
// services vanish, functions break, configurations change. [Faults] lists all of it. At the end of a world nothing goes wrong any more, and everything must settle.
//
// # What it takes for granted
//
// The worlds are as unkind as the documentation of the services, and what was seen of them, allows, and no more:
//
//   - A call that its caller gave up after 10 seconds takes effect within 2 minutes or never. A new task is listed within 25 seconds, and described within
//     another minute. So it shows before LaunchUntil + session.LateLaunch.
//   - The index of active leases shows what was true at most 45 seconds ago. Reads by key are consistent.
//   - A session's status follows the truth within 12 seconds. By mistake it reads suspended, 404 or somebody else's for at most 12 seconds, and terminated for at most 2;
//     a task that runs is missing for at most 45. No such mistake but the first comes twice within 11 minutes.
//   - The clocks of all functions agree. RunTask is not sent after the deadline of its context, however long the function stood still.
//
// # What it cannot show
//
// The ports are in memory, so that nothing is seen of the real clients: pages of lists, the SDK's own retries, HTTP, and how answers are read are tests of their own
// packages. Not every promise is a rule: that a slot is handed on at once, that a sweep goes on where the last one stopped, that one session alone probes a breaker, and
// that Retry-After is heeded would be missed only as time, calls or, in the end, a session that waits too long.
//
// # How it is judged
//
// Every [Rule] is checked at the moment that could break it, with the faults on, by what the world knows and not by what the product believes. What may be so for a
// while (an orphan) breaks its rule when it lasts through a number of sweeps that nothing went wrong in; a session that waits beside a free slot when it has waited too
// long, the minutes not counted in which something may have kept it waiting.
//
// Built with the tag mutants, the tests put faults into the product, one by one, and show that each is found.
package simulate
