package ledger

// A ledger that is new, or that was recovered from a log that may lack its newest entries, does not know what was counted today. It asks for
// the control plane's count of every account before it grants anything of its day, and is told again while the day lasts, since records
// of the time before may still be on their way there. The limit is raised to the count, never lowered.

// seedDayOf returns the day whose count the account needs, or 0.
func (s *State) seedDayOf(a *account) uint32 {
	if s.seeds == 0 || !a.id.Kind.Daily() || uint32(s.now/dayMS) != s.seedDay {
		return 0
	}
	return s.seedDay
}

// seed takes in the control plane's count. What is outstanding may be in it, so the two are not added.
func (a *account) seed(s *State, r *Record) {
	if r.Seed == 0 || s.seedDayOf(a) == 0 {
		return
	}
	a.seeds = s.seeds
	a.settled += max(0, r.Seed-1-a.counted())
}
