package ledger

import "modelgate.internal/dataplane/internal/quota/internal/mutant"

// Clock is the ledger clock of one replica: what it would stamp if it led. It continues from the newest applied entry with the
// replica's own monotonic clock, so a new leader lags by the replication delay at most and never jumps. While it leads it is
// slewed towards the wall clock by at most 500 ppm. It is not safe for concurrent use.
type Clock struct {
	mutant mutant.Set

	ledgerNS int64 // ledger time ...
	monoNS   int64 // ... at this reading of the monotonic clock
}

// Mutate breaks the clock on purpose, for tests of package quota.
func (c *Clock) Mutate(m mutant.Set) { c.mutant = m }

// Observe follows an entry that another replica stamped, at the time it is applied here.
func (c *Clock) Observe(atMS, monoNS int64) {
	c.ledgerNS, c.monoNS = atMS*1e6, monoNS
}

// Resume starts the clock of a replica that has applied nothing since its start but its own old log: time passed while nobody
// kept the ledger clock, and only the wall clock knows how much. It never goes back.
func (c *Clock) Resume(newestMS, wallNS, monoNS int64) {
	c.ledgerNS, c.monoNS = max(newestMS*1e6, wallNS), monoNS
}

// Lead is called when the replica becomes leader.
func (c *Clock) Lead(wallNS int64) {
	if c.mutant.ClockSteps {
		c.ledgerNS = max(c.ledgerNS, wallNS)
	}
}

// Stamp returns the time for an entry in milliseconds.
func (c *Clock) Stamp(wallNS, monoNS int64) int64 {
	passed := max(0, monoNS-c.monoNS)
	now := c.ledgerNS + passed
	slew := passed * slewPPM / 1_000_000
	now += min(max(wallNS-now, -slew), slew)
	c.ledgerNS, c.monoNS = now, max(c.monoNS, monoNS)
	return now / 1e6
}

// OffsetNS returns how far the ledger clock was ahead of the wall clock at the newest stamp or observation.
func (c *Clock) OffsetNS(wallNS, monoNS int64) int64 {
	return c.ledgerNS + max(0, monoNS-c.monoNS) - wallNS
}
