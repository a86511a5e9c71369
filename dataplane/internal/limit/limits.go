package limit

// Amounts of model tokens.
const (
	// AnswerTokens is what is reserved for an answer whose caller sets no bound, and at most for a stream, which takes more as it needs it.
	AnswerTokens = 1024
	// tokensStep is how many a stream takes at a time that has used what was reserved, or a half, a quarter, ... of them, if the limit has
	// no more.
	tokensStep = 512
)
