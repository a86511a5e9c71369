// Package soak keeps the whole system busy for a while, with keys, model servers and callers coming and going, and then sees
// that nothing is left behind.
//
// It holds one test. The programs run as processes, built with the race detector. Three groups of callers, each with an app of
// its own, so that what they should find is known exactly:
//
//   - steady: a good model server and a key that stays. Whole answers, streams, callers that read slowly, that leave while
//     events flow or in a silence, and that stop reading.
//   - revoked: the same server, keys that are created, regenerated and revoked through the portal's interface under open streams.
//   - shaky: a model server that is stopped and started again and again, alone and in a pool with the good one.
//
// At the end every call that a caller saw is in the node's count by how it ended, and in the portal's usage, exactly once; no
// stream is open; goroutines are as many as after the warm-up; memory is bounded; no log tells of a race or a panic.
//
// The callers of a group never leave before their first event: whether a request that is given up earlier was counted, its
// caller could not know. SOAK_DURATION sets how long it lasts (`make soak DURATION=10m`); the default is short, for go test.
package soak
