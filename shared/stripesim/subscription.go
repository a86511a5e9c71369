package stripesim

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// managed reports whether the billing portal has something to do with a subscription.
func (sub *subscription) managed() bool {
	switch sub.status {
	case "active", "trialing", "past_due", "unpaid", "paused":
		return true
	default:
		return false
	}
}

// last4 are the last digits of the card or account, or that there is none.
func (sub *subscription) last4() string {
	if sub.card == noCard {
		return "none"
	}
	return sub.card[len(sub.card)-4:]
}

func (s *Sim) newSession(q request) (object, error) {
	c := &session{
		id: s.id("cs"), customer: q.get("customer"), ref: q.get("client_reference_id"), price: q.get("line_items[0][price]"),
		success: q.get("success_url"), cancel: q.get("cancel_url"), status: "open", created: s.now(),
	}
	if who := s.customers[c.customer]; who == nil || who.deleted {
		return nil, unknown("customer", c.customer)
	}
	if s.prices[c.price] == nil {
		return nil, unknown("price", c.price)
	}
	if q.get("mode") != "subscription" {
		return nil, wrong("The simulator knows the mode subscription only.")
	}
	s.sessions[c.id] = c
	return s.showSession(c, q.expand), nil
}

func (s *Sim) getSession(q request) (object, error) {
	c := s.sessions[q.id]
	if c == nil {
		return nil, unknown("checkout.session", q.id)
	}
	return s.showSession(c, q.expand), nil
}

func (s *Sim) expireSession(q request) (object, error) {
	c := s.sessions[q.id]
	if c == nil {
		return nil, unknown("checkout.session", q.id)
	}
	if c.status != "open" {
		return nil, wrong("Only Checkout Sessions with a status in [\"open\"] can be expired.")
	}
	s.expire(c)
	return s.showSession(c, q.expand), nil
}

func (s *Sim) newVisit(q request) (object, error) {
	v := &visit{id: s.id("bps"), customer: q.get("customer"), back: q.get("return_url")}
	if who := s.customers[v.customer]; who == nil || who.deleted {
		return nil, unknown("customer", v.customer)
	}
	s.visits[v.id] = v
	return object{
		"id": v.id, "object": "billing_portal.session", "customer": v.customer, "url": s.c.URL + "/portal/" + v.id, "return_url": v.back, "livemode": false,
	}, nil
}

// ofCustomer returns the subscriptions of a customer, newest first.
func (s *Sim) ofCustomer(id string) (found []*subscription) {
	for _, one := range slices.Backward(s.order) {
		if sub := s.subs[one]; sub != nil && sub.customer == id {
			found = append(found, sub)
		}
	}
	return found
}

func (s *Sim) listSubs(q request) (object, error) {
	if s.customers[q.get("customer")] == nil {
		return nil, unknown("customer", q.get("customer"))
	}
	limit, found := limitOf(q), []object{}
	for _, sub := range s.ofCustomer(q.get("customer")) {
		if (q.get("status") == "all" || sub.status != "canceled") && len(found) < limit {
			found = append(found, s.showSub(sub, q.expand, "data."))
		}
	}
	return listOf(found), nil
}

func limitOf(q request) int {
	n, err := strconv.Atoi(q.get("limit"))
	if err != nil || n < 1 {
		return 10
	}
	return min(n, 100)
}

func (s *Sim) getSub(q request) (object, error) {
	sub := s.subs[q.id]
	if sub == nil {
		return nil, unknown("subscription", q.id)
	}
	return s.showSub(sub, q.expand, ""), nil
}

// changeSub changes the price, charging the difference at once, or when the subscription ends.
func (s *Sim) changeSub(q request) (object, error) {
	sub := s.subs[q.id]
	if sub == nil {
		return nil, unknown("subscription", q.id)
	}
	if end := q.get("cancel_at_period_end"); end != "" {
		sub.cancelAtEnd = end == "true"
	}
	if err := s.setTrial(sub, q); err != nil {
		return nil, err
	}
	if to := q.get("items[0][price]"); to != "" && to != sub.price {
		if s.prices[to] == nil {
			return nil, unknown("price", to)
		}
		due, lines := s.proration(sub, to)
		if due > 0 && (sub.card == CardDeclined || sub.card == CardFailsLater) {
			return nil, &refusal{http.StatusPaymentRequired, "card_error", "Your card was declined."}
		}
		if s.prices[to].interval != s.prices[sub.price].interval {
			sub.start = s.now()
			sub.end = s.after(to, sub.start)
		}
		sub.price = to
		b := s.bill(sub, "subscription_update", due, lines...)
		s.settle(b)
		s.tell("invoice.paid", s.showBill(b, nil, ""))
	}
	s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
	return s.showSub(sub, q.expand, ""), nil
}

// setTrial begins a trial, or changes its end, as a seller does.
func (s *Sim) setTrial(sub *subscription, q request) error {
	text := q.get("trial_end")
	if text == "" {
		return nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !time.Unix(seconds, 0).After(s.now()) {
		return wrong("Invalid timestamp: can be no earlier than now.")
	}
	sub.status, sub.start, sub.end = "trialing", s.now(), time.Unix(seconds, 0).UTC()
	sub.pause = q.get("trial_settings[end_behavior][missing_payment_method]") == "pause"
	s.settle(s.bill(sub, "subscription_update", 0, object{"description": "Trial period", "amount": int64(0), "proration": false}))
	return nil
}

// proration is what a change to another price costs now: credit for the time that is left, and the other price for it; a new
// interval begins a new period at its full price.
func (s *Sim) proration(sub *subscription, to string) (due int64, lines []object) {
	from, p := s.prices[sub.price], s.prices[to]
	left := sub.end.Sub(s.now()).Seconds() / sub.end.Sub(sub.start).Seconds()
	credit, cost := int64(float64(from.amount)*left), int64(float64(p.amount)*left)
	if from.interval != p.interval {
		cost = p.amount
	}
	return cost - credit, []object{
		{"description": "Unused time on " + s.products[from.product].name, "amount": -credit, "proration": true},
		{"description": "Remaining time on " + s.products[p.product].name, "amount": cost, "proration": true},
	}
}

func (s *Sim) cancelSub(q request) (object, error) {
	sub := s.subs[q.id]
	if sub == nil || sub.status == "canceled" || sub.status == "incomplete_expired" {
		return nil, unknown("subscription", q.id)
	}
	if sub.status == "incomplete" {
		s.end(sub, "incomplete_expired")
	} else {
		s.end(sub, "canceled")
	}
	return s.showSub(sub, q.expand, ""), nil
}

func (s *Sim) listBills(q request) (object, error) {
	limit, found := limitOf(q), []object{}
	for _, id := range slices.Backward(s.order) {
		if b := s.bills[id]; b != nil && b.customer == q.get("customer") && len(found) < limit {
			found = append(found, s.showBill(b, q.expand, "data."))
		}
	}
	return listOf(found), nil
}

func (s *Sim) upcoming(q request) (object, error) {
	sub := s.subs[q.get("subscription")]
	if sub == nil {
		return nil, unknown("subscription", q.get("subscription"))
	}
	to := q.get("subscription_items[0][price]")
	if s.prices[to] == nil {
		return nil, unknown("price", to)
	}
	due, lines := s.proration(sub, to)
	b := &bill{customer: sub.customer, sub: sub.id, status: "draft", currency: s.prices[to].currency, amount: due, lines: lines, created: s.now()}
	o := s.showBill(b, nil, "")
	for _, name := range []string{"id", "hosted_invoice_url", "payment_intent", "number"} {
		delete(o, name)
	}
	return o, nil
}
