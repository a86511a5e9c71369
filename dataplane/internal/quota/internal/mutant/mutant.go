package mutant

// Set names the deliberate defects. The zero value is the correct algorithm.
type Set struct {
	// Ledger.
	HolderByNode      bool // a new incarnation takes over the counters of the old one
	NarrowSlots       bool // slots are cut to int32 and then compared with whole ones
	SettleAtUse       bool // use is stamped with the session's last frame before it instead of when it is learned
	NoGuard           bool // a token is released W after the start of its slot, without guard or rounding up
	IgnoreOutstanding bool // grants look at settled tokens only
	GrantWhole        bool // amounts are granted whole, free or not
	FreeOnExpiry      bool // an expired session's unspent tokens are taken as never used

	// Ledger clock.
	ClockSteps bool // a new leader uses its wall clock

	// Client.
	ClockFirst    bool // the clock is read before the take
	SettleNothing bool // settling gives back what was used, too

	// No defect: without it, the simulation measures what the token that is kept for the next call is worth.
	KeepNone bool
}
