// Package replicas runs two control planes on one database, and takes the database away from both, as processes.
//
// It holds one test, TestReplicas, which starts a system of two nodes, adds a second control plane with the same settings, and
// attaches one node to each. It proves what is promised of replicas: either serves everything, what one changes holds on the
// nodes of the other, background work is done once, and nothing that was accepted is lost when the database hangs. It asserts
// counts and answers; waits have generous bounds, since the machine may be busy.
package replicas
