// Command mockmodel runs the upstream simulator: an OpenAI-compatible chat server on loopback that answers with
// simulated text and can misbehave on demand. See --help for the flags and --scenarios for the faults; package
// bench/internal/mockmodel documents the protocol and how a fault is chosen.
//
// It does no work of its own: flags, wiring and waiting. SIGINT and SIGTERM end it with status 0 within a second;
// a wrong flag ends it with status 2, a script that cannot be read or a port that is taken with status 1.
package main
