// Package run is the life of a process: parts start in order, run together, and stop in reverse order with a deadline
// each.
//
// [Main] turns the first SIGINT or SIGTERM into the end of a context and the second into an immediate exit. [Group] runs
// the parts: the first that fails stops all. A Group is used by one goroutine; the functions given to it run on their own.
package run
