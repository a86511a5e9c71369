// Package server puts the handlers of the api package behind net/http: the mux, and around it what holds for every
// request: an id, one log line, recovery from panics, headers, limits on body and time, and errors as the contract writes
// them, 404 and 405 included. Parameters that are no text are refused here, by their names.
//
// What net/http would answer by itself in plain text, before there is a request, is written the same way ([Listener]).
//
// It decides nothing about resources and reads no body. The handler is safe for concurrent use. A panic in a handler is
// answered with 500 and logged with its stack; the process goes on.
package server
