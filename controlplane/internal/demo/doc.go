// Package demo knows the demo pages and the JavaScript SDK that were built into the portal's files: which there are, which plan
// opens a demo, and what of them everybody may load.
//
// The build says what it made in demos/manifest.json; a page that is not listed there is not served, and without that file
// there are no demos. The SDK is what lies below sdk/. The package does not know HTTP and does not judge sessions.
//
// Everything is read when the process starts and immutable afterwards, hence safe for concurrent use. A manifest that
// contradicts itself is an error at the start; nothing can fail later.
package demo
