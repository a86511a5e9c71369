// Command stripesim runs the simulator of Stripe on loopback, for `make run` and tests. Package shared/stripesim documents what it
// knows, its cards and its controls.
//
// It does no work of its own: flags, wiring and waiting. SIGINT and SIGTERM end it with status 0; a wrong flag ends it with
// status 2, a port that is taken or an address that is not loopback with status 1. What was bought is forgotten with its end.
package main
