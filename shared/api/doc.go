// Package api holds the contract of Modelgate: openapi.yaml, written by hand, the source of every path, body, answer and
// error of both planes.
//
// The package embeds the document and tells what is in it: [YAML] and [JSON] for serving, [Operations] for holding route
// tables against it. It does not validate requests or answers; shared/bind does that for the planes, and the tests here
// hold the document against the specification and against the structs of shared/wire.
//
// The functions keep no state and are safe for concurrent use. [JSON] and [Operations] parse the whole document on each
// call, so a server calls them once at its start. They depend on nothing at run time; an error from them means that the
// embedded document is broken, which the tests exclude.
package api
