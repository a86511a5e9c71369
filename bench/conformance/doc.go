// Package conformance holds a running system against its contract, black box: every operation of openapi.yaml is called,
// and every answer must be one that the document promises for it, body included.
//
// The package has tests only. It does not check what the operations mean; bench/journey does.
package conformance
