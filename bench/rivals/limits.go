package rivals

import "time"

const (
	// perSecond is the limit of calls by key: high enough never to be met, but judged for each call.
	perSecond = 1_000_000

	filesUsed  = 65_536 // descriptors, if the system allows as many
	filesLeast = 4_096
	filesSpare = 512 // logs, listeners, libraries

	checkWait   = 10 * time.Second
	startWait   = 10 * time.Second
	startPoll   = 10 * time.Millisecond
	stopWait    = 3 * time.Second
	installWait = 2 * time.Minute
)
