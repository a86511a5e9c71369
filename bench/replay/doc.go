// Package replay measures what a node's calls feel of a backlog of usage records that is shipped beside them.
//
// Its test is skipped unless SPOOL_BYTES says how large the backlog is (`make replay`: 10 GiB; about 128 MiB last for the
// windows). The backlog is written as a node writes it, into the directory of a node that is down; the node is started on it and
// serves calls in a closed loop. Windows in which nothing is shipped alternate with windows in which the backlog is. The control
// plane's part of taking uploads is played by a stand-in that checks the numbers, counts records and stores nothing: it is as
// quick as can be, which is the worst for the calls, and it takes no processor from the node. Everything else is the system as
// it runs.
//
// What is compared is the node's CPU time for a call, its shipping included. In windows without shipping not even the
// records of the calls themselves are shipped. The bound it holds is the one that is promised. It means something on a quiet
// machine: the pace is a share of the processors, of which a node that other programs leave little to has less for its calls.
package replay
