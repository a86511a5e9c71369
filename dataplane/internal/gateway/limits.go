package gateway

import "time"

const (
	requestIDMax = 64 // characters of an X-Request-Id that is taken over

	bodyBytesMax      = 1 << 20  // of most operations
	bodyBytesMaxImage = 12 << 20 // of operations that take an image
	bodyBytesMaxOpen  = 32 << 10 // of operations for callers without a key

	meterRetry    = 5 * time.Second // Retry-After while usage cannot be recorded
	drainingRetry = time.Second     // Retry-After of calls that the node gave up: another node answers
)
