// Command stack runs the whole of Modelgate on this machine until it is told to end: it is what `make run` starts. See
// package stack for what that comprises.
//
// SIGINT, SIGTERM and SIGHUP stop everything in order; a second SIGINT or SIGTERM ends the program at once, and the kernel then
// ends its processes. It does not daemonize, and exits with 0 after an ordered stop, 1 when the start failed.
package main
