// Package auth turns the text of a credential into the caller it speaks for.
//
// A stream token, which is a JWT that the control plane signed, speaks for a key and goes the key's way once its signature is
// verified: it has the key's scope and limits and ends with it, and so do its streams. A token that the control plane signed for one call
// of a developer's session in the portal stands for no key: it says the principal itself, and lives for a minute.
//
// A text is judged in this order, cheapest first: shape, tag, a bounded cache in memory, the node's index of keys. Nothing is
// asked over a network and no text is kept: keys are known by their SHA-256. What a caller may do (scope, host) is not decided
// here.
//
// A key has at most one grant, which all its calls share and which is found by revocations for as long as a cache entry or a
// call refers to it. Looking a key up and applying a change to it are ordered by a lock over the key's stripe, so that when
// [Auth.KeyChanged] returns the old state of the key is in force nowhere on the node: not in the cache, not in calls that
// authenticate at that moment, and streams of a revoked key have been told.
//
// Concurrency: everything is safe for concurrent use. A call whose key is in the cache takes no lock and allocates nothing.
//
// Failure: an index that cannot be read answers 503 for keys that are not in the cache. The control plane is not needed.
package auth
