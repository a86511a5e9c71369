package account

import "time"

// Bounds of accounts and sessions.
const (
	PasswordRunesMin = 8
	PasswordRunesMax = 128
	EmailBytesMax    = 254
	EmailLocalMax    = 64

	TokenTTL          = 12 * time.Hour      // of an access token
	SessionTTL        = 14 * 24 * time.Hour // of a session that is not renewed
	SessionMax        = 90 * 24 * time.Hour // of a session, however often it is renewed
	RefreshGrace      = 10 * time.Second    // a second use of a refresh cookie within it is two tabs, not a thief
	RefreshKept       = 7 * 24 * time.Hour  // how long a used refresh cookie is known
	UserAgentMax      = 200                 // bytes of what a browser calls itself that are kept
	SessionCacheTTL   = 5 * time.Second
	SessionCacheMax   = 10_000 // sessions remembered as valid
	SessionsPerDevMax = 50     // open sessions of one developer; the oldest ends when one more begins
	TokenBytesMax     = 4 << 10

	VerifyTTL     = 3 * 24 * time.Hour
	ResetTTL      = time.Hour
	ChallengeTTL  = 5 * time.Minute // between password and second factor
	RecoveryCodes = 10              // handed out with a second factor

	DeletionDelay   = 7 * 24 * time.Hour // in which a deletion can be taken back
	RecentSignIn    = 10 * time.Minute   // a sign-in that confirms a deletion where there is no password
	RemovalEvery    = time.Minute        // how often it is looked for accounts to remove
	RemovalsMax     = 100                // accounts removed in one round
	removalLeaseFor = 2 * time.Minute    // longer than the removal of one app takes

	NameBytesMax = 120 // of a name that comes from elsewhere

	NoticeTTL = 3 * 24 * time.Hour // how long it is tried to deliver a mail that tells something

	ThrottleAccountFree      = 5                // failed sign-ins of an account in a row without a pause
	ThrottleNetworkFree      = 30               // failed sign-ins of a network without a pause
	ThrottleMailFree         = 3                // mails with a link to an address without a pause
	ThrottleRegisterFree     = 300              // registrations of a network without a pause
	ThrottleRegisterPauseMax = 10 * time.Second // longest pause between registrations
	ThrottlePauseMin         = 1 * time.Second  // first pause; doubles
	ThrottlePauseMax         = 15 * time.Minute // longest pause
	ThrottleForgetAfter      = time.Hour        // quiet time after which the count starts over
	ThrottleEntriesMax       = 20_000           // accounts and networks remembered

	HashHeapFactor = 4 // how far the heap grows, in hashes under way: some of those before wait for the garbage collector

	OverrideMax = 1_000_000_000 // largest limit that an operator can set
)
