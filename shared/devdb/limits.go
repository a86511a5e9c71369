package devdb

import "time"

// Bounds on waiting for the server and on what is asked of it.
const (
	startWait     = 60 * time.Second // from start to the first answer; covers recovery after a crash
	startPoll     = 20 * time.Millisecond
	connectWait   = 10 * time.Second // one connection for administration
	changeWait    = 60 * time.Second // to create, copy or drop a database
	stopPolite    = 10 * time.Second // an orderly end, all connections cut
	stopFirm      = 5 * time.Second  // an end without a checkpoint
	leftoverWait  = 15 * time.Second // for a server that outlived a killed program to finish
	leftoverPoll  = 50 * time.Millisecond
	socketPathMax = 107 // bytes that a unix socket address holds on Linux
	nameBytesMax  = 63  // bytes of a database name
	logTailLines  = 20  // lines of the server's log shown when it does not start
	logTailBytes  = 16 << 10

	majorMin       = 15  // oldest PostgreSQL that is supported
	connectionsMax = 100 // connections a private server takes
)
