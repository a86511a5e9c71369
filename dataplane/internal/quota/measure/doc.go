// Package measure prints figures of the ledger that need real processes: what three idle voters cost, how long the first call of a key
// takes, and the ledger beside what users would otherwise run: one key at ten times its limit on three nodes, once with leases of the ledger
// and once with the sliding-window-counter script on a Redis server, at the same time on the same machine.
//
// It has no code of its own; `make bench-ledger` runs its benchmarks. BenchmarkHotKey starts seven processes and a redis-server: three nodes of
// each system, and one that makes the same load and asks nobody, whose CPU time is taken off. It runs for a minute and a half;
// HOTKEY_DURATION and HOTKEY_LIMIT (calls per minute) change that. Without redis-server on the machine its row says so. The script and its
// client are tested with the others.
package measure
