package upstream

import "time"

const (
	answerBytesMax     = 8 << 20  // a whole answer
	tensorBytesMax     = 32 << 20 // an answer with a tensor
	eventBytesMax      = 1 << 20  // one event of a stream
	errorBytesMax      = 64 << 10 // what is read of an upstream's error answer
	messageRunesMax    = 300      // of an upstream's error message that is passed on
	requestKeptBytes   = 64 << 10 // request buffers up to this are used again
	imageInlineBytes   = 4 << 10  // images up to this are copied into the request; larger ones are written from where they are
	nestingMax         = 32       // depth of JSON that the fast path follows
	templateBytesMax   = 4 << 10  // of an event around its text
	credentialBytesMax = 4 << 10
	heldBytesMax       = 16 << 10 // of chunks without output that wait for the first with some
	toolCallsMax       = 1024     // of an answer that are given ids
	framesKeptBytes    = 4 << 10  // of a stream's buffer for rewritten chunks that is kept between them
	speechBytesMax     = 16 << 20 // of audio that a server has spoken
	speechFieldsBytes  = 256      // of an answer beside its audio
	audioHeadBytes     = 44       // of audio that are looked at: the head of a plain WAV file
	encodeBytes        = 12 << 10 // of audio that are encoded at once; a multiple of 3

	connectDefault = 5 * time.Second
	headDefault    = 60 * time.Second
	firstDefault   = 60 * time.Second
	idleDefault    = 60 * time.Second
	answerDefault  = 5 * time.Minute
	totalDefault   = 30 * time.Minute

	errorBodyWait = 2 * time.Second // for the body of an error answer
	tailWait      = 5 * time.Second // from the finish reason to the end of the stream
	retryAfterMax = time.Hour       // of an upstream's Retry-After that is passed on
	awayRetry     = 5 * time.Second // Retry-After when an upstream that can serve nobody says no time
	busyRetry     = time.Second     // Retry-After when every connection is in use

	listBytesMax    = 1 << 20 // a list of languages
	languagesMax    = 1000    // in it
	languageCodeMax = 35      // bytes of a code, which BCP 47 asks to make room for
	searchBytesMax  = 2 << 20 // what a search found

	listTime      = 10 * time.Second // for a list of languages
	translateTime = 60 * time.Second // for a translation
	searchTime    = 15 * time.Second // for a search: SearXNG gives its engines a few seconds

	voiceDefault = "alloy" // of the dialect speech, where no voice is configured

	bytesPerToken = 4 // of JSON-escaped text, where tokens are estimated
)

// KeepAliveDefault is the silence after which a client is sent a comment, where nothing else is configured.
const KeepAliveDefault = 10 * time.Second
