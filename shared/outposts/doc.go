// Package outposts is a client for the fleet API of Devin Outposts: the
// account-wide queues ("outposts") in which sessions wait for a machine.
//
// An orchestrator lists the entries of a queue, claims one, starts a worker for
// it and releases the claim when the worker is gone. The package speaks HTTP
// and knows nothing of what happens to a session after that.
//
// Four rules of the service shape it. They come from the public reference at
// docs.devin.ai and from what orchestrators in the field have seen:
//
//   - Delivery is at least once, so rows are joined by session id and the later
//     row wins.
//   - Claiming is a compare-and-set. Losing is an outcome ([ErrClaimLost]), not
//     a failure; claiming again with the same acceptor id renews.
//   - A list that could not be read to its end is an error, never a short list:
//     sessions are given up on the strength of it.
//   - Field formats have changed under running clients, so reading is lenient,
//     and one entry that cannot be read costs that entry alone.
//
// Nothing is retried here but a refused token, which is loaded once more.
// Callers own their back-off: see [RateLimitedError] and [TemporaryError].
package outposts
