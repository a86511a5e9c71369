package alert

import "time"

// Bounds of alerts.
const (
	WatchEvery    = 15 * time.Second // between two looks at the counts
	WatchLeaseFor = time.Minute      // how long the watching belongs to a replica
	WatchMax      = 500              // accounts read at a time
	LetterTTL     = 24 * time.Hour   // after which a mail about a day is of no use

	SendTimeout      = 10 * time.Second // one attempt, from the dial to the end of the answer
	DialTimeout      = 5 * time.Second
	PollEvery        = time.Second
	ClaimMax         = 20 // notifications that a replica takes at a time
	ClaimFor         = ClaimMax*SendTimeout + time.Minute
	DeliverFor       = 24 * time.Hour // from the first attempt to the last
	BackoffMin       = 10 * time.Second
	BackoffMax       = time.Hour
	AnswerBytes      = 4 << 10 // of an answer that are read, so that its connection can end well
	AnswerHeadBytes  = 16 << 10
	TestEvery        = 10 * time.Second    // between two tests of a webhook
	DeliveriesKept   = 30 * 24 * time.Hour // of notifications that are done or dead
	DeliveriesListed = 10                  // newest first
	URLBytesMax      = 2048
	SecretBytes      = 32
	settleWithin     = 10 * time.Second // to note what became of a notification while the process stops
)
