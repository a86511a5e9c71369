// Package api holds the handlers of the gateway's operations, a file per group. A handler turns a call.Call into a
// call.Answer: it reads the body, has package route choose, asks the upstream and forms the answer of the contract.
//
// It does not authenticate, count or write to a client, and it knows no HTTP: that is the gateway's work.
//
// Concurrency: the handlers of an [API] are safe for concurrent use; it remembers nothing but the languages of translation
// servers, for a time. A call's slices belong to that call. The searches of a deep search run on goroutines of their own, which end
// with the call.
//
// Failure: what an upstream fails with is passed on as it is (502, 503, 429); a model that is configured for an upstream this
// node could not set up is 503.
package api
