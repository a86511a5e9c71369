// Package stacktest starts the whole system for tests: the real programs, built from this workspace, in a temporary
// directory and on free ports.
//
// A test that fails gets the logs of all processes. Everything is stopped and removed with the test.
package stacktest
