package account

import "time"

// Bounds of accounts and sessions.
const (
	PasswordRunesMin = 8
	PasswordRunesMax = 128
	EmailBytesMax    = 254
	EmailLocalMax    = 64

	SessionTTL        = 12 * time.Hour
	SessionCacheTTL   = 5 * time.Second
	SessionCacheMax   = 10_000 // sessions remembered as valid
	SessionsPerDevMax = 50     // open sessions of one developer; the oldest ends when one more begins
	TokenBytesMax     = 4 << 10

	ThrottleAccountFree      = 5                // failed sign-ins of an account in a row without a pause
	ThrottleNetworkFree      = 30               // failed sign-ins of a network without a pause
	ThrottleRegisterFree     = 300              // registrations of a network without a pause
	ThrottleRegisterPauseMax = 10 * time.Second // longest pause between registrations
	ThrottlePauseMin         = 1 * time.Second  // first pause; doubles
	ThrottlePauseMax         = 15 * time.Minute // longest pause
	ThrottleForgetAfter      = time.Hour        // quiet time after which the count starts over
	ThrottleEntriesMax       = 20_000           // accounts and networks remembered

	OverrideMax = 1_000_000_000 // largest limit that an operator can set
)
