package pool

import (
	"cmp"
	"time"

	"modelgate.internal/shared/plane"
)

// terms are the settings of a pool with the defaults filled in. They are replaced, never changed.
type terms struct {
	policy        policy
	attempts      int
	budgetPercent int64
	minPerSecond  int64
	concurrency   int // 0 means no cap
	queueLength   int
	maxWait       time.Duration
	fallbacks     []fallback
}

// fallback is where a call may go on.
type fallback struct {
	on   []plane.FailureClass
	pool *Pool
}

func termsOf(spec plane.PoolSpec) *terms {
	return &terms{
		policy:        policyOf(spec.Policy),
		attempts:      min(cmp.Or(max(spec.Retry.Attempts, 0), attemptsDefault), plane.PoolAttemptsMax),
		budgetPercent: int64(max(cmp.Or(spec.Retry.BudgetPercent, budgetPercentDefault), 0)),
		minPerSecond:  int64(max(cmp.Or(spec.Retry.MinPerSecond, minPerSecondDefault), 0)),
		concurrency:   max(spec.Concurrency, 0),
		queueLength:   max(cmp.Or(spec.Queue.Length, queueLengthDefault), 0),
		maxWait:       milliseconds(spec.Queue.MaxWaitMS, maxWaitDefault),
	}
}

// guard is what protects a server, with the defaults filled in.
type guard struct {
	concurrency int // 0 means no cap

	failures   int // 0 means no breaker
	window     time.Duration
	backOff    time.Duration
	backOffMax time.Duration

	path     string // "" means no health checks
	interval time.Duration
	timeout  time.Duration
	down, up int
}

func guardOf(spec plane.UpstreamSpec) guard {
	b, h := spec.Breaker, spec.Health
	g := guard{
		concurrency: max(spec.Concurrency, 0),
		failures:    max(cmp.Or(b.Failures, breakerFailuresDefault), 0),
		window:      milliseconds(b.WindowMS, breakerWindowDefault),
		backOff:     milliseconds(b.BackOffMS, backOffDefault),
		backOffMax:  milliseconds(b.BackOffMaxMS, backOffMaxDefault),
		path:        h.Path,
		interval:    milliseconds(h.IntervalMS, healthIntervalDefault),
		timeout:     milliseconds(h.TimeoutMS, healthTimeoutDefault),
		down:        cmp.Or(max(h.Down, 0), healthDownDefault),
		up:          cmp.Or(max(h.Up, 0), healthUpDefault),
	}
	g.backOffMax = max(g.backOffMax, g.backOff)
	return g
}

func milliseconds(ms int64, otherwise time.Duration) time.Duration {
	if ms <= 0 {
		return otherwise
	}
	return time.Duration(min(ms, plane.PoolWaitMaxMS)) * time.Millisecond
}
