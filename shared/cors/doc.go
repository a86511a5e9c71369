// Package cors says what pages of other origins may send to and read from paths that take no cookies.
//
// On such paths a page can do no more than any program can: a credential is text that the page itself sends. So every origin, method
// and header is allowed, and credentials of the browser never are. What is allowed is told by the name that the browser asks for,
// because "*" does not cover Authorization.
//
// Concurrency: functions of their arguments. Failure: a list of headers that is malformed or too long is answered with [Headers].
//
// Source: https://fetch.spec.whatwg.org/#http-cors-protocol
package cors
