// Package plane is the contract between the control plane and the data plane: what is published to the nodes (keys,
// models, upstreams, skills), how a node follows it (cursors, the change stream) and what the nodes report back (usage).
//
// The types are plain data with a JSON form. They are immutable once published; a reader may keep a pointer for as long
// as it likes. The package talks to nothing: the control plane's publish package and the data plane's snapshot package
// speak the protocol.
package plane
