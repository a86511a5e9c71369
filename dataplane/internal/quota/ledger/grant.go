package ledger

// record settles what a record reports and grants what it asks for.
func (s *State) record(x *session, r *Record, leave bool, previous int64, res *Result) Grant {
	a := s.account(r)
	if a == nil {
		return Grant{ID: r.ID, Granted: r.Used + r.Void, Unknown: true, RetryMS: s.policy.WindowMS}
	}
	s.own(a)
	a.advance(s)
	if r.Seen >= a.seen && r.Class != a.class {
		a.adopt(s, r)
	}
	limit, known := s.limitOf(a)
	h := a.holder(x, r)
	h.asked = uint32(s.now)

	// Counters of a confused or hostile node may say anything: only what is outstanding can be settled or returned.
	used := min(max(r.Used-h.used, 0), int64(h.outstanding))
	h.outstanding -= uint32(used)
	void := min(max(r.Void-h.void, 0), int64(h.outstanding))
	h.outstanding -= uint32(void)
	h.used, h.void = max(h.used, r.Used), max(h.void, r.Void)
	a.outstanding -= used + void
	at := s.now
	if s.mutant.SettleAtUse {
		at = previous
	}
	a.settle(s, used, at)
	a.seed(s, r)

	g := Grant{ID: r.ID, Limit: limit, Unknown: !known, SeedDay: s.seedDayOf(a)}
	want := r.Used + r.Void + r.Hold - h.granted()
	g.Wait = g.SeedDay != 0 && a.seeds != s.seeds
	if leave || want <= 0 || g.Wait {
		want = 0
	}
	avail := limit - a.counted()
	if s.mutant.IgnoreOutstanding {
		avail = limit - a.settled
	}
	n := a.portion(want, avail, limit, h)
	if s.mutant.GrantWhole && a.id.Kind.Amounts() {
		n = max(n, want)
	}
	h.outstanding += uint32(n)
	a.outstanding += n
	g.Granted = h.granted()
	g.Avail = limit - a.counted()
	if want > n && g.Avail < want-n && (n == 0 || a.id.Kind.Amounts()) {
		g.RetryMS = a.retryMS(s, want-n, limit)
		g.Pend = a.outstanding > int64(h.outstanding)
		if g.Pend {
			s.recall(a, x, res)
		}
	}
	g.FreesMS = a.freesMS(s)
	return g
}

// portion is how much of want is granted: never more than avail, and of countable kinds a share that halves as the rest shrinks,
// so that the last tokens are leased one by one to whoever asks (guided self-scheduling).
func (a *account) portion(want, avail, limit int64, h *holder) int64 {
	if want <= 0 || avail <= 0 {
		return 0
	}
	n := min(want, avail)
	if !a.id.Kind.Amounts() {
		n = min(n, max(1, avail/int64(halving*len(a.holders))))
	}
	if a.id.Kind.Daily() { // what a lost node can strand for the rest of the day
		most := (limit + dayLeaseDivisor - 1) / dayLeaseDivisor
		n = min(n, max(0, most-int64(h.outstanding)))
	}
	return n
}

// adopt takes the class that a node read at a newer config version. At the same version the lower limit counts.
func (a *account) adopt(s *State, r *Record) {
	next, _ := s.classLimit(r.Class)
	if now, _ := s.classLimit(a.class); r.Seen == a.seen && next > now {
		return
	}
	a.class, a.seen = r.Class, r.Seen
}

// retryMS returns when want tokens, or as many as the limit allows, are free if every unspent one is returned at once.
func (a *account) retryMS(s *State, want, limit int64) int64 {
	if a.id.Kind.Daily() {
		return dayMS - s.now%dayMS
	}
	if limit <= 0 {
		return a.window(&s.policy)
	}
	if !a.id.Kind.Amounts() {
		want = 1
	}
	short := min(want, limit) - (limit - a.counted())
	for _, slot := range a.slots {
		short -= int64(slot.count)
		if short <= 0 {
			return max(1, a.releaseMS(s, slot.at))
		}
	}
	return s.policy.TTLMS // it depends on the holders; by then their sessions are known to be alive or not
}

// freesMS returns when the oldest counted token stops counting.
func (a *account) freesMS(s *State) int64 {
	switch {
	case a.settled == 0:
		return 0
	case a.id.Kind.Daily():
		return dayMS - s.now%dayMS
	default:
		return a.releaseMS(s, a.slots[0].at)
	}
}

// recall asks all other live holders of unspent tokens to return them, not too often.
func (s *State) recall(a *account, asker *session, res *Result) {
	if asker != nil && uint32(s.now)-a.recalled < recallAgainMS {
		return
	}
	a.recalled = uint32(s.now)
	for i := range a.holders {
		h := &a.holders[i]
		if h.outstanding > 0 && h.session != asker && s.nodes[h.session.node] == h.session {
			res.Recalls = append(res.Recalls, Recall{h.session.node, h.session.incarnation, a.id})
		}
	}
}

// account finds or makes the account of a record. It returns nil when the ledger is full.
func (s *State) account(r *Record) *account {
	if a := s.find(r.ID); a != nil {
		return a
	}
	switch {
	case len(s.slab) >= AccountsMax:
		return nil
	case len(s.slab) == 0: // nothing is due in the past
		s.wheel.cursor = s.tick()
	}
	a := &account{
		id: r.ID, class: r.Class, seen: r.Seen, gen: s.gen,
		day: uint32(s.now / dayMS), recalled: uint32(s.now - recallAgainMS),
	}
	s.insert(a)
	s.wheel.add(a, s.tick()+s.restTicks())
	return a
}
