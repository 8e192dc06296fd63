// Package outpoststest simulates the fleet service of Devin Outposts on one
// HTTP server: the queue API, the distribution of devin-remote, and the gateway
// that workers dial. It is as strict as the real one where the public reference
// says so, and stricter where a client's slip would otherwise go unseen: a
// query parameter or a field that it does not know is refused.
//
// What it does as the service does:
//
//   - Claims are compare-and-set and last Options.ClaimLife. An expired claim
//     goes back to the queue the next time anybody looks, unless the session is
//     running: then it stays with its worker.
//   - Claiming again renews, with a new connect token; all tokens of an unbroken
//     claim stay good.
//   - Pages and watches are ordered by the last change. A page starts with the
//     row that ended the page before it, and a session that changes in between
//     shows up once more.
//   - Released sessions that sleep or are over lie in the queue as pending until
//     they are pruned. Claiming one works, as it would there, and is wrong.
//
// Tests move sessions with methods of [Server] and switch on [Fault]s. Delays,
// keep-alives and stream lengths run on real time; everything that decides
// something about a session reads Options.Now.
package outpoststest
