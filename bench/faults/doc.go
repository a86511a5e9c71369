// Package faults drives the gateway, as a process in the whole system and over HTTP, into what goes wrong around it: model
// servers that lie, break off, stall or talk nonsense, callers that leave, and requests that are malformed.
//
// It holds tests only. Each row of a table names a fault and what a caller must see of it, for a whole answer, a stream, or
// both: the status, the text that arrived, how a stream ended (one typed error event and then [DONE], or [DONE] alone after
// an answer that is complete), and the time it may take. The other two sides are asked as well: the simulator's journal
// tells how often it was asked and whether it was let go, and the portal's usage must show every call once, with its status
// and tokens. For this every row has an app and a key of its own, and a model with an upstream of its own, so that what the
// gateway learns of a bad server in one row does not touch the others.
//
// What it does not do: kill processes under load, cut networks, or measure. Deadlines of the node are set short, but all bounds
// on time are wide, because the machine is shared.
//
// All rows of a table run at the same time on one stack of their own, since most of them wait; what they brought is judged
// afterwards, row by row. When the stack does not start, the test ends with its logs.
package faults
