package auth

import "time"

const (
	cachedKeysDefault = 100_000 // keys in memory when Options do not say; about 1.5 KB each with their counters
	cachedTokens      = 10_000  // verified stream tokens in memory
	tokenCachedMax    = time.Minute
	countersPerKey    = 10  // what the cache's admission policy asks for
	stripes           = 256 // power of two
	unknownPerStripe  = 8   // digests lately found to be unknown
)
