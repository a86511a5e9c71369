// Package call describes one API call free of the HTTP server: who calls, what was asked, and the answer, whole or
// streamed.
//
// The gateway fills a [Call] from a request, a handler turns it into an [Answer], the encoder writes that and the meter
// records the [Outcome]. A Call belongs to one goroutine; its Body is valid until the answer is finished.
package call
