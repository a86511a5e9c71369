package audit

// Bounds of what is asked of a chain at once.
const (
	PageMax     = 1000   // records in an answer
	PageDefault = 100    // records in an answer that asks for no number
	VerifyMax   = 10_000 // records verified by one call
	verifyPage  = 1000   // records held in memory while verifying
)
