// Package stack runs the whole system as processes on one machine: database, control plane, data-plane nodes, a development
// mailbox that takes their mails and, when no model server is configured, the simulator. `make run`, the process tests, the
// benchmarks and the chaos runs all start the system through it, so there is one way to start it.
//
// Everything it keeps lies in one directory, .modelgate by default: configuration files, secrets/, the database, one
// directory per node, log/NAME.log, run/NAME.pid and run/stack.json, which tells other programs where everything is. The
// first run makes secrets and a demo account with an app and a test key; later runs find and use them.
//
// Every process listens on loopback, from PortBase on:
//
//	+0 control plane      +3 control plane, for nodes       +6 simulator
//	+1 gateway            +4 metrics of the control plane   +7 development mailbox, SMTP
//	+2 Darwin host        +5 metrics of the node            +8 pages of the development mailbox
//	+10 simulator of Stripe
//
// A second node has +11, +12 and +15, a third +21, +22, +25, and so on. Nodes that are not alone talk to each other at +7, +17 and so on:
// the first keeps the rate-limit ledger, from three nodes on the first three do, and the others lease from it.
//
// It knows the planes by their command lines, configuration files and HTTP interfaces only, and decides nothing for production.
//
// A Stack may be used from any number of goroutines.
//
// A process that ends by itself is reported with the end of its log and started again, sooner or later by how often that
// happens; while it is down its pid file is gone. A port that is taken, a second stack in the same directory and a process that
// does not become ready end Start with an error that says what to do. When the program ends, by whatever cause, its
// processes end with it.
package stack
