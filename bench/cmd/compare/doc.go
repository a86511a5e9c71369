// Command compare measures our gateway beside nginx, HAProxy and Caddy on this machine and prints one table of ratios to nginx with a
// key check, a limit and a log. It is what `make bench` runs; package bench/internal/compare says how it measures.
//
// It needs bin/mockmodel, and bin/controlplane and bin/dataplane for the gateway. The report goes to standard output, its progress
// to standard error, and the raw results into a file. SIGINT and SIGTERM end it and everything that it started. It exits with 0
// when the comparison was made, whatever it found, 1 when it was not, and 2 for a wrong flag.
package main
