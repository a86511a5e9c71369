// Package testkit is what the tests of all modules share: wire transcripts, the import table, the package-doc check, TLS
// certificates and a real database.
//
// It is imported by tests only. Its functions fail the test they are given and return nothing half-done; they may be
// used from parallel tests.
package testkit
