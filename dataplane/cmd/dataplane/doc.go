// Command dataplane is a node of the data plane: it answers API calls by the configuration that the control plane publishes,
// and goes on doing so without the control plane.
//
// It is configured by a file, the environment and flags; `dataplane -help` lists everything. Two sockets serve callers (the
// gateway host and the Darwin host), a third, private one serves metrics, probes and profiles. State that must survive a
// restart is in the data directory: the node's identity, its copy of the configuration, its part of the rate-limit ledger, and usage that is
// not delivered yet.
package main
