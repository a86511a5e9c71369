package pool

import "time"

const (
	attemptsDefault      = 3
	budgetPercentDefault = 10
	minPerSecondDefault  = 3
	queueLengthDefault   = 128
	maxWaitDefault       = 2 * time.Second

	breakerFailuresDefault = 5
	breakerWindowDefault   = 10 * time.Second
	backOffDefault         = time.Second
	backOffMaxDefault      = 30 * time.Second

	healthIntervalDefault = 5 * time.Second
	healthTimeoutDefault  = 2 * time.Second
	healthDownDefault     = 3
	healthUpDefault       = 2
	healthBodyBytesMax    = 64 << 10 // of a health answer that is read so that its connection can be used again

	witnessesMax    = 16       // callers whose results are kept of a server while calls fail
	quorum          = 3        // callers whose failures together are taken for the server's
	opinionsMax     = 2        // further callers that are asked beside a probe
	shareResultsMin = 20       // results that a share is taken of
	hashedBytesMax  = 16 << 10 // of a request, by which it is told apart
	sanePercent     = 10       // of calls that a server answers which is not given up
	opinionRounds   = 4        // of back-off without a failure, after which a caller is as good as one who never failed
	saidMax         = 2        // times that a server gives the same error to one call

	budgetCreditMax = 100                    // further attempts that quiet times save up
	retryPauseFirst = 50 * time.Millisecond  // before the second attempt at the same member; doubled by each
	retryPauseMax   = time.Second            // where the doubling stops
	restMax         = time.Hour              // longest Retry-After that keeps a member out
	restDefault     = time.Second            // what a 429 without Retry-After keeps a member out
	latencyMemory   = 10 * time.Second       // decay of the EWMA
	latencyUnknown  = time.Second            // load of a busy member that has not answered yet
	penaltyMax      = 30 * time.Second       // latency that failures are taken for, at most
	latencyFloor    = 100 * time.Nanosecond  // below it a latency has been forgotten
	tieBelowPercent = 90                     // a drawn rival must be this much better than the first draw
	refusalAfterMin = 500 * time.Millisecond // least Retry-After of our own refusals
)
