package ledger

// Bounds of what the ledger takes in.
const (
	LimitMax           = 1<<28 - 1 // tokens of one limit; cells of nodes count in 28 bits
	FrameBytesMax      = 1 << 20
	FrameRecordsMax    = 8192
	EntryRecordsMax    = 4096 // a group of frames stops growing here; one frame may exceed it alone
	EntryBytesMax      = 4 << 20
	EntryCommandsMax   = 4096
	NodesMax           = 4096
	BannedMax          = 1 << 16
	AccountsMax        = 8 << 20
	ClassesMax         = 1 << 16
	OverridesMax       = 1 << 20
	counterMax         = 1 << 53 // cumulative counters of one incarnation
	collectPerEntryMax = 4096    // idle limits looked at per entry, which bounds the time of an apply
	runAccounts        = 512     // idle limits that are sorted at a time
	holdersExact       = 4       // holders of one limit up to which no space is kept for more
	capturePartRecords = 256     // limits copied per lock hold of a snapshot
)

// Sizes that room is made for. What needs more gets it.
const (
	frameBytesMost   = 40 // without records; also of an entry without frames and commands
	recordBytesOften = 28 // of a UUID's limit
)

// Times of the algorithm in milliseconds of the ledger clock.
const (
	slotsPerWindow   = 240
	wheelTickMS      = 1000
	holderIdleMS     = 2000 // a holder without tokens is no longer active after this
	recallAgainMS    = 10   // between two recalls of one limit
	slewPPM          = 500
	dayMS            = 24 * 60 * 60 * 1000
	defaultWindowMS  = 60_000
	defaultGuardMS   = 100
	defaultTTLMS     = 2000
	defaultRequestMS = 15 * 60_000
)

// Shares of a limit.
const (
	dayLeaseDivisor = 256 // a node holds at most this part of a day's limit
	halving         = 2   // a grant is at most this part of what is free, divided by the holders
)

// Versions of what is stored. A build refuses versions that it does not know.
const (
	entryVersion    = 1
	snapshotVersion = 3 // of ledgers with banned nodes; 2 of those that were told to seed days; others are written as 1
	snapshotMagic   = "modelgate quota ledger\n"
)
