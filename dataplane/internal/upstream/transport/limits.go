package transport

import "time"

const (
	headBytesMax    = 64 << 10 // status line and fields of one answer
	headLinesMax    = 100
	interimMax      = 5        // 1xx answers before the real one
	chunkLineMax    = 512      // bytes of a chunk-size line with its extensions
	trailerBytesMax = 8 << 10  // fields after the last chunk
	chunkSizeMax    = 1 << 40  // bytes one chunk may announce
	bufferSmall     = 4 << 10  // bytes of a first read
	bufferLarge     = 64 << 10 // bytes of a read when the one before filled its buffer
	bufferMax       = 9 << 20  // bytes of body that a reader may keep undigested; readers have lower limits of their own

	connectionsDefault = 16_384 // per server, idle and busy; under the ~28,000 ports of one address pair
	idleDefault        = 1_024  // idle connections per server
	idleAgeDefault     = 55 * time.Second

	keepAliveIdle  = 30 * time.Second // TCP probes find a server that vanished without a FIN
	keepAliveEvery = 10 * time.Second
	keepAliveCount = 3

	pieceBytesMin = 16 << 10              // of a body that is sent while it is read; a chunk is at least so long but for the last
	emptyReadsMax = 100                   // of a body, without a byte
	earlyWait     = 10 * time.Millisecond // for the head of an answer that begins before the request has ended

	lateHeadWait  = time.Second // for the answer of a server that stopped reading the request
	drainWait     = time.Second // for the end of a body whose reader has seen enough
	drainReadsMax = 8           // reads for the same
)
