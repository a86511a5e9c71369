// Package agree holds everything that tells of usage against each other and against what clients counted themselves, on the real
// programs: charts, groups and CSV of apps and of the account, the limits page, the seed of the rate-limit ledger, the account's
// day that billing reads, the log of calls, and the metrics of the node and of the control plane.
//
// The model is a server of this package, not the simulator, so that keys are live and their calls count against the quota.
//
// Concurrency: one test with a stack of its own. Failure: without a database the test fails and says what to install.
package agree
