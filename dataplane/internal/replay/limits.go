package replay

import "time"

const (
	keyBytesMax   = 255
	askMax        = 3 * time.Second        // for the control plane to answer
	keepingMax    = 5 * time.Second        // that an answer waits until its result is kept
	keepingRetry  = 250 * time.Millisecond // between attempts
	pollFirst     = 50 * time.Millisecond  // between looks at a call that somebody else makes, doubled up to pollMax
	pollMax       = time.Second
	retryAfter    = 5 * time.Second // of a 503
	answerMaxTell = 300             // bytes of an unexpected answer in the log
)
