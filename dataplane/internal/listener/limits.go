package listener

import "time"

const (
	headBytesMax     = 8 << 10  // request line and headers; also the read buffer of a connection
	writeBufferBytes = 2 << 10  // head and body of a usual answer in one write; held by streams, too
	bodyBytesFree    = 64 << 10 // bodies up to this size are not held against the budget: connections bound them
	bodyBytesQuick   = 4 << 10  // bodies up to this size come with their head and have no time of their own
	bodyBytesFirst   = 4 << 10  // of memory for a body in chunks, doubled as it arrives
	writePieceBytes  = 64 << 10 // per piece of a large write, so that its deadline measures progress
	chunkBufferBytes = 8 << 10  // of a body in chunks while it is read; large chunks go past it

	requestTime     = 10 * time.Second // from a request's first byte to the end of its head; for the first byte of a connection
	bodyTime        = 15 * time.Second // from there to the end of the body
	stallTime       = 15 * time.Second // silence in an upload
	idleTimeout     = 75 * time.Second // between requests; above the load balancer's
	readRefresh     = time.Second      // how much a connection may be cut for silence before its time
	deadlineRefresh = time.Second      // how old the deadline of a write or of an upload may be before it is set anew

	keepAliveIdle   = 30 * time.Second // silence before a TCP probe
	keepAliveEvery  = 10 * time.Second
	keepAliveProbes = 3
	userTimeout     = 30 * time.Second // unacknowledged data before the kernel gives the peer up

	lingerTime       = 2 * time.Second // for each piece that is read on after a refusal, so that the client sees the answer and not a reset
	lingerPieceBytes = 16 << 10
	lingerBytesMax   = 16 << 20

	acceptRetryMax = time.Second            // pause after a failed accept
	deadlineEvery  = 250 * time.Millisecond // how often total deadlines are looked at
	eventsPerWait  = 256

	certificateEvery = 10 * time.Second // how often the files of the certificate are looked at

	endTime = 5 * time.Second // for calls that were told to end when the drain time was over

	overloadRetry = time.Second // Retry-After of a refusal for want of room
)
