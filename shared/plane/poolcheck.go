package plane

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of what an operator may set.
const (
	PoolMembersMax     = 64
	PoolFallbacksMax   = 8
	PoolWeightMax      = 1000
	PoolAttemptsMax    = 10
	PoolQueueLengthMax = 100_000
	PoolWaitMaxMS      = 10 * 60 * 1000 // of any duration of pools, breakers and health checks
)

// CheckPools returns what is wrong with the pools, with what pools use of the upstreams, and with the skills, as one error that
// names each mistake and how to mend it, or nil. It is the control plane's check before it publishes.
func (c *Current) CheckPools() error {
	var k check
	for _, id := range slices.Sorted(maps.Keys(c.Upstreams)) {
		k.upstream(fmt.Sprintf("upstream %q", id), c.Upstreams[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.Pools)) {
		k.pool(c, id, c.Pools[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.Models)) {
		if target := c.Models[id].Upstream; target != "" && !c.has(target) {
			k.fault("model %q names %q, which is neither an upstream nor a pool", id, target)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Skills)) {
		k.skill(c, name, c.Skills[name])
	}
	return errors.Join(k...)
}

func (c *Current) has(id string) bool {
	_, upstream := c.Upstreams[id]
	_, pool := c.Pools[id]
	return upstream || pool
}

// check gathers faults.
type check []error

func (k *check) fault(format string, args ...any) { *k = append(*k, fmt.Errorf(format, args...)) }

// within demands low <= value <= high.
func (k *check) within(where, field string, value, low, high int64) {
	if value < low || value > high {
		k.fault("%s: %s is %d; it must be from %d to %d", where, field, value, low, high)
	}
}

func (k *check) upstream(where string, u UpstreamSpec) {
	if !slices.Contains(Dialects(), u.Dialect) {
		k.fault("%s: dialect is %q; it must be one of %s", where, u.Dialect, strings.Join(Dialects(), ", "))
	}
	k.infer(where, u)
	k.parameters(where, u)
	k.within(where, "concurrency", int64(u.Concurrency), 0, 1<<20)
	k.within(where, "breaker.failures", int64(u.Breaker.Failures), -1, 1000)
	k.within(where, "breaker.window_ms", u.Breaker.WindowMS, 0, PoolWaitMaxMS)
	k.within(where, "breaker.back_off_ms", u.Breaker.BackOffMS, 0, PoolWaitMaxMS)
	k.within(where, "breaker.back_off_max_ms", u.Breaker.BackOffMaxMS, 0, PoolWaitMaxMS)
	if u.Breaker.BackOffMaxMS > 0 && u.Breaker.BackOffMS > u.Breaker.BackOffMaxMS {
		k.fault("%s: breaker.back_off_ms is above breaker.back_off_max_ms", where)
	}
	if u.Health.Path != "" && !strings.HasPrefix(u.Health.Path, "/") {
		k.fault("%s: health.path is %q; it must start with /", where, u.Health.Path)
	}
	k.within(where, "health.interval_ms", u.Health.IntervalMS, 0, PoolWaitMaxMS)
	k.within(where, "health.timeout_ms", u.Health.TimeoutMS, 0, PoolWaitMaxMS)
	k.within(where, "health.down", int64(u.Health.Down), 0, 100)
	k.within(where, "health.up", int64(u.Health.Up), 0, 100)
}

func (k *check) pool(c *Current, id string, p PoolSpec) {
	where := fmt.Sprintf("pool %q", id)
	if id == "" || p.ID != id {
		k.fault("%s: its id field is %q; both must be the same and not empty", where, p.ID)
	}
	if _, taken := c.Upstreams[id]; taken {
		k.fault("%s: an upstream has the same id; models could not tell them apart", where)
	}
	switch p.Policy {
	case "", PolicyRoundRobin, PolicyLeastInFlight, PolicyP2CEWMA:
	default:
		k.fault("%s: policy is %q; it must be %s, %s or %s", where, p.Policy, PolicyRoundRobin, PolicyLeastInFlight, PolicyP2CEWMA)
	}
	k.members(c, where, p)
	k.fallbacks(c, where, p)
	k.within(where, "retry.attempts", int64(p.Retry.Attempts), 0, PoolAttemptsMax)
	k.within(where, "retry.budget_percent", int64(p.Retry.BudgetPercent), -1, 100)
	k.within(where, "retry.min_per_second", int64(p.Retry.MinPerSecond), -1, 1000)
	k.within(where, "concurrency", int64(p.Concurrency), 0, 1<<20)
	k.within(where, "queue.length", int64(p.Queue.Length), -1, PoolQueueLengthMax)
	k.within(where, "queue.max_wait_ms", p.Queue.MaxWaitMS, 0, PoolWaitMaxMS)
}

func (k *check) members(c *Current, where string, p PoolSpec) {
	if len(p.Members) == 0 || len(p.Members) > PoolMembersMax {
		k.fault("%s: it has %d members; it must have from 1 to %d", where, len(p.Members), PoolMembersMax)
	}
	first, _ := c.Target(p.ID)
	seen := map[string]bool{}
	for i, m := range p.Members {
		at := fmt.Sprintf("%s: member %d", where, i+1)
		k.within(at, "weight", int64(m.Weight), 0, PoolWeightMax)
		if seen[m.Upstream] {
			k.fault("%s names upstream %q again; give it more weight instead", at, m.Upstream)
		}
		seen[m.Upstream] = true
		spec, ok := c.Upstreams[m.Upstream]
		if !ok {
			k.fault("%s names upstream %q, which is not configured", at, m.Upstream)
			continue
		}
		k.alike(at, first, spec)
	}
}

func (k *check) fallbacks(c *Current, where string, p PoolSpec) {
	if len(p.Fallbacks) > PoolFallbacksMax {
		k.fault("%s: it has %d fallbacks; it may have %d", where, len(p.Fallbacks), PoolFallbacksMax)
	}
	first, known := c.Target(p.ID)
	for i, f := range p.Fallbacks {
		at := fmt.Sprintf("%s: fallback %d", where, i+1)
		for _, class := range f.On {
			switch class {
			case FailConnect, FailRateLimited, FailServerError, FailRefused, FailTimeout, FailInvalidAnswer, FailBusy:
			default:
				k.fault("%s: on has %q; it must be one of connect, rate_limited, server_error, refused, timeout, invalid_answer, busy", at, class)
			}
		}
		if (f.Upstream == "") == (f.Model == "") {
			k.fault("%s: set either upstream or model", at)
			continue
		}
		target, ok := c.FallbackTarget(f)
		if !ok {
			k.fault("%s names %q, which is not configured", at, f.Upstream+f.Model)
			continue
		}
		if target == p.ID {
			k.fault("%s leads back to the pool itself", at)
		}
		if spec, ok := c.Target(target); ok && known {
			k.alike(at, first, spec)
		}
	}
}

// FallbackTarget returns the ID of the upstream or pool that a fallback leads to, and whether it is configured.
func (c *Current) FallbackTarget(f Fallback) (string, bool) {
	id := f.Upstream
	if f.Model != "" {
		id = c.Models[f.Model].Upstream
	}
	return id, c.has(id)
}

// alike demands that a call may go to either upstream.
func (k *check) alike(at string, first, other UpstreamSpec) {
	if first.Dialect != other.Dialect {
		k.fault("%s: upstream %q speaks %q and %q speaks %q; a pool speaks one dialect", at, other.ID, other.Dialect, first.ID, first.Dialect)
	}
	if first.Simulator != other.Simulator {
		k.fault("%s: %q and %q mix a simulator with a real server; callers could not tell which answered", at, first.ID, other.ID)
	}
}
