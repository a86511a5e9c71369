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
		case "past_due":
			next(s.bills[sub.invoice].created.Add(UnpaidFor), func() { s.end(sub, "canceled") })
		case "incomplete":
			next(sub.created.Add(incompleteFor), func() { s.end(sub, "incomplete_expired") })
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
	b := s.bill(sub, p.amount, object{"description": s.products[p.product].name, "amount": p.amount, "proration": false})
	if sub.card == CardDeclined || sub.card == CardFailsLater {
		sub.status = "past_due"
		s.tell("invoice.payment_failed", s.showBill(b, nil, ""))
		s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
		return
	}
	s.settle(b)
	s.tell("invoice.paid", s.showBill(b, nil, ""))
	s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
}

func (s *Sim) expire(c *session) {
	c.status = "expired"
	s.tell("checkout.session.expired", s.showSession(c, nil))
}
