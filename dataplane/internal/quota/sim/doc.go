// Package sim proves the quota ledger by simulation; all of it is in its tests.
//
// A seeded virtual world runs the real client cores, the real ledger, its encoding and its clock on a network that loses, delays,
// doubles and cuts, with leaders that vanish before or after their entries are committed, nodes that crash, stop and go on, and
// clocks that drift. Afterwards every admission is known in true time, and no window may have more than its limit. The package has
// no dependency that could fail and no concurrency but that of tests.
package sim
