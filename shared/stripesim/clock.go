package stripesim

import "time"

// Advance moves the clock; everything that is due by then happens, in its order, each thing at its time.
func (s *Sim) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	goal := s.ahead + d
	for {
		at, do := s.due()
		if do == nil || at.Sub(s.now()) > goal-s.ahead {
			s.ahead = goal
			return
		}
		s.ahead += max(at.Sub(s.now()), 0)
		do()
	}
}

// due finds what happens next.
func (s *Sim) due() (at time.Time, do func()) {
	next := func(t time.Time, f func()) {
		if do == nil || t.Before(at) {
			at, do = t, f
		}
	}
	for _, id := range s.order {
		sub := s.subs[id]
		if sub == nil {
			continue
		}
		switch sub.status {
		case "active":
			next(sub.end, func() { s.renew(sub) })
		case "trialing":
			next(sub.end, func() { s.endTrial(sub) })
		case "past_due":
			next(s.bills[sub.invoice].created.Add(UnpaidFor), func() { s.giveUp(sub) })
		case "incomplete":
			next(sub.created.Add(incompleteFor), func() { s.end(sub, "incomplete_expired") })
		}
	}
	for _, b := range s.bills {
		if b.payment == outcomeBank && b.status == "open" {
			next(b.created.Add(BankFor), func() { s.answerOfBank(b) })
		}
	}
	for _, c := range s.sessions {
		if c.status == "open" {
			next(c.created.Add(sessionFor), func() { s.expire(c) })
		}
	}
	return at, do
}

// renew begins the next period of a subscription, or ends it.
func (s *Sim) renew(sub *subscription) {
	if sub.cancelAtEnd {
		s.end(sub, "canceled")
		return
	}
	sub.start, sub.end = sub.end, s.after(sub.price, sub.end)
	p := s.prices[sub.price]
	b := s.bill(sub, "subscription_cycle", p.amount, object{"description": s.products[p.product].name, "amount": p.amount, "proration": false})
	if sub.card == CardDeclined || sub.card == CardFailsLater || sub.card == noCard {
		sub.status = "past_due"
		s.tell("invoice.payment_failed", s.showBill(b, nil, ""))
		s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
		return
	}
	sub.status = "active"
	s.settle(b)
	s.tell("invoice.paid", s.showBill(b, nil, ""))
	s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
}

// giveUp does what the seller chose for a subscription that nobody pays.
func (s *Sim) giveUp(sub *subscription) {
	if !s.unpaid {
		s.end(sub, "canceled")
		return
	}
	sub.status = "unpaid"
	s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
}

// endTrial begins the first period that is paid, or pauses the subscription when the seller wants that without a card.
func (s *Sim) endTrial(sub *subscription) {
	if sub.card != noCard || !sub.pause {
		s.renew(sub)
		return
	}
	sub.status = "paused"
	s.tell("customer.subscription.paused", s.showSub(sub, nil, ""))
}

// resume begins a period of a paused subscription now.
func (s *Sim) resume(sub *subscription) {
	sub.end = s.now()
	s.renew(sub)
	s.tell("customer.subscription.resumed", s.showSub(sub, nil, ""))
}

func (s *Sim) expire(c *session) {
	c.status = "expired"
	s.tell("checkout.session.expired", s.showSession(c, nil))
}
