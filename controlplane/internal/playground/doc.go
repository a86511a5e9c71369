// Package playground makes test calls for developers who are signed in to the portal: it turns what the portal sends into a
// request to the gateway, with the value of the chosen key, and hands back the gateway's answer as it came. So the key decides
// what is allowed, whose limits hold and whose usage it is, exactly as in a call from outside; its value never leaves the
// server.
//
// Where no key was chosen the call is made by the developer's own session: with a token that the control plane signs for this one call,
// that nodes accept for a minute, and that nobody is shown. It may do what the developer's plan allows; what it uses counts against the
// account's day and stands in the usage under the developer's id in the place of a key's. Nothing takes such a token back: a call that
// has begun when the account is closed ends by itself. Tasks are made with the oldest test key while there is one, which costs
// nothing of the day.
//
// Cameras are calibrated here, because the gateway has no such operation, and the calibrations go along with the
// calls that need them. Nodes are told of them, too, for callers who are not in the portal.
//
// A body is held to the contract before it is sent on; what free-form members mean is the gateway's to judge. Nothing is
// retried, since a call may cost something.
//
// While the gateway is away calls fail with a 502, while the database is away with the store's 503. What a call may take
// (bytes, time, calls at once) is bounded in limits.go. All types are safe for concurrent use; an [Answer] has one reader.
package playground
