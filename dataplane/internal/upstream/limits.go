package upstream

import "time"

const (
	answerBytesMax     = 8 << 20  // a whole answer
	eventBytesMax      = 1 << 20  // one event of a stream
	errorBytesMax      = 64 << 10 // what is read of an upstream's error answer
	messageRunesMax    = 300      // of an upstream's error message that is passed on
	requestKeptBytes   = 64 << 10 // request buffers up to this are used again
	imageInlineBytes   = 4 << 10  // images up to this are copied into the request; larger ones are written from where they are
	nestingMax         = 32       // depth of JSON that the fast path follows
	templateBytesMax   = 4 << 10  // of an event around its text
	credentialBytesMax = 4 << 10

	connectDefault = 5 * time.Second
	headDefault    = 60 * time.Second
	firstDefault   = 60 * time.Second
	idleDefault    = 60 * time.Second
	answerDefault  = 5 * time.Minute
	totalDefault   = 30 * time.Minute

	errorBodyWait = 2 * time.Second // for the body of an error answer
	tailWait      = 5 * time.Second // from the finish reason to the end of the stream
	retryAfterMax = time.Hour       // of an upstream's Retry-After that is passed on
	busyRetry     = time.Second     // Retry-After when every connection is in use

	bytesPerToken = 4 // of JSON-escaped text, where tokens are estimated
)

// KeepAliveDefault is the silence after which a client is sent a comment, where nothing else is configured.
const KeepAliveDefault = 10 * time.Second
