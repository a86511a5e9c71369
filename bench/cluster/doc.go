// Package cluster tests the rate limits of a cluster of real processes, black box: what all nodes admit together never exceeds a limit in
// any window, while nodes are killed, stopped and cut off from each other by proxies between them, restarted one by one, kept from writing
// to their disk, and run builds of different versions. It also tests that keys, scopes and limits hold on every node by the time the portal
// answers that they are made (FRESH_KEYS says how many keys).
// It has no code of its own.
//
// The tests run for a window and a half, or for CLUSTER_DURATION. They fail when a process cannot be started, and never skip.
package cluster
