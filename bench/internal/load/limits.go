package load

import "time"

const (
	connectionsMax   = 20_000
	requestsMax      = 1_000_000_000
	rateMax          = 1_000_000 // requests per second
	runMax           = 10 * time.Minute
	dialWait         = 5 * time.Second
	pauseAfterError  = 10 * time.Millisecond // before a connection is made again
	failuresInRowMax = 50                    // then a connection is given up
	dialsAtOnceMax   = 512                   // the kernel's queue of a listener is short

	headBytesMax     = 32 << 10
	bufferBytes      = 8 << 10
	bufferBytesLarge = 64 << 10 // for few connections with much to read
	fewConnections   = 256
	eventBytesMax    = 1 << 20

	shards          = 16
	histogramMax    = 2 * time.Minute // longer is counted as this
	histogramDigits = 3
	stampDigits     = 19 // Unix time in nanoseconds
)
