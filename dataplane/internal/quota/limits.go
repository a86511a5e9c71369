package quota

import "time"

const (
	sessionTTL      = 2 * time.Second
	tendEvery       = time.Second           // looks at the membership, and at who is banned
	renewPause      = time.Minute           // between two attempts to renew a certificate
	unreadyAfter    = 5 * time.Second       // without an answer of the ledger
	catchUpEntries  = 1000                  // a replica may lack at most so many when it is promoted
	membershipTime  = 10 * time.Second      // for one change of the membership
	raftTime        = 10 * time.Second      // for one message of raft
	raftConnsIdle   = 3                     // kept open to each member
	socketBytesMax  = 100                   // of the path of a unix socket; the kernel allows 108
	commandBytesMax = 64 << 10              // of a command over the unix socket
	commandTime     = 30 * time.Second      // for a command as a whole
	runningTime     = 2 * time.Second       // for a running node to say so
	daysBatch       = 256                   // accounts in one question to the control plane
	daysWaiting     = 4096                  // questions that wait; more are asked again by those who need them
	daysTime        = 5 * time.Second       // for one answer
	daysPause       = 20 * time.Millisecond // in which questions gather
	leaderPoll      = 50 * time.Millisecond // between two looks whether somebody leads
)
