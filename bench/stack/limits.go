package stack

import "time"

// Bounds on waiting.
const (
	readyWait     = 60 * time.Second // from the start of a process to its readiness
	readyPoll     = 25 * time.Millisecond
	readyAsk      = 2 * time.Second  // one question whether a process is ready
	progressEvery = 5 * time.Second  // a line that says what is being waited for
	promoteWait   = 30 * time.Second // for a new voter to catch up
	toolWait      = 2 * time.Minute  // keygen, migrate
	demoWait      = 30 * time.Second
	callWait      = 10 * time.Second // one call of the portal's interface

	restartMin   = 200 * time.Millisecond // pause before the first restart, doubled with each one
	restartMax   = 10 * time.Second
	restartCalm  = 30 * time.Second // a process that ran this long starts over with restartMin
	stopPolite   = 15 * time.Second // for a process to finish its calls after SIGTERM
	databaseWait = 60 * time.Second // for a crashed database to be back
)

// Bounds on sizes and counts.
const (
	portBaseDefault = 8080
	portMax         = 65535
	portsPerNode    = 10
	nodesMax        = 9

	tailLines     = 20 // lines of a log shown when its process ended
	tailBytes     = 16 << 10
	logBytesMax   = 32 << 20 // of one log; then it becomes NAME.log.1 and begins anew
	logCheckEvery = time.Second
	answerMax     = 1 << 20 // bytes of an answer of the portal's interface
)
