package stripesim

import "slices"

// The shapes of version 2023-10-16. expand names what is shown in place of its id, as the caller asked for it; at is where in
// the answer the object is: empty, or a path that ends with a dot.

func (s *Sim) showCustomer(c *customer) object {
	if c.deleted {
		return object{"id": c.id, "object": "customer", "deleted": true}
	}
	return object{
		"id": c.id, "object": "customer", "email": c.email, "name": c.name, "metadata": c.metadata, "livemode": false, "created": c.created.Unix(),
	}
}

func (s *Sim) showProduct(p *product) object {
	return object{"id": p.id, "object": "product", "name": p.name, "metadata": p.metadata, "active": true, "livemode": false}
}

func (s *Sim) showPrice(p *price) object {
	o := object{
		"id": p.id, "object": "price", "product": p.product, "currency": p.currency, "unit_amount": p.amount, "metadata": p.metadata,
		"active": p.active, "type": "recurring", "livemode": false, "lookup_key": nil,
		"recurring": object{"interval": p.interval, "interval_count": 1, "usage_type": "licensed"},
	}
	if p.lookup != "" {
		o["lookup_key"] = p.lookup
	}
	return o
}

func (s *Sim) showSession(c *session, expand []string) object {
	o := object{
		"id": c.id, "object": "checkout.session", "mode": "subscription", "status": c.status, "customer": c.customer, "client_reference_id": c.ref,
		"payment_status": "unpaid", "subscription": nil, "url": nil, "livemode": false, "created": c.created.Unix(),
		"expires_at": c.created.Add(sessionFor).Unix(), "success_url": c.success, "cancel_url": c.cancel,
	}
	if c.status == "open" {
		o["url"] = s.c.URL + "/pay/" + c.id
	}
	if sub := s.subs[c.sub]; sub != nil {
		o["subscription"] = sub.id
		if s.bills[sub.invoice].status == "paid" {
			o["payment_status"] = "paid"
		}
		if asked(expand, "subscription") {
			o["subscription"] = s.showSub(sub, expand, "subscription.")
		}
	}
	return o
}

func (s *Sim) showSub(sub *subscription, expand []string, at string) object {
	p := s.prices[sub.price]
	o := object{
		"id": sub.id, "object": "subscription", "customer": sub.customer, "status": sub.status, "created": sub.created.Unix(),
		"current_period_start": sub.start.Unix(), "current_period_end": sub.end.Unix(), "cancel_at_period_end": sub.cancelAtEnd,
		"latest_invoice": sub.invoice, "livemode": false, "default_payment_method": nil, "currency": p.currency,
		"items": object{"object": "list", "has_more": false, "data": []object{{
			"id": sub.item, "object": "subscription_item", "subscription": sub.id, "quantity": 1, "price": s.showPrice(p),
		}}},
	}
	if asked(expand, at+"latest_invoice") {
		o["latest_invoice"] = s.showBill(s.bills[sub.invoice], expand, at+"latest_invoice.")
	}
	if sub.card == noCard {
		return o
	}
	o["default_payment_method"] = "pm_" + sub.card
	if asked(expand, at+"default_payment_method") {
		o["default_payment_method"] = showMethod(sub)
	}
	return o
}

func showMethod(sub *subscription) object {
	o := object{"id": "pm_" + sub.card, "object": "payment_method", "type": "us_bank_account"}
	if sub.card == BankGood || sub.card == BankFails {
		o["us_bank_account"] = object{"bank_name": "SIMULATED BANK", "last4": sub.last4()}
		return o
	}
	o["type"], o["card"] = "card", object{"brand": "visa", "last4": sub.last4(), "exp_month": 12, "exp_year": 2034}
	return o
}

func (s *Sim) showBill(b *bill, expand []string, at string) object {
	lines := []object{}
	for i, l := range b.lines {
		lines = append(lines, object{
			"id": b.id + "_" + string(rune('a'+i)), "object": "line_item", "description": l["description"], "amount": l["amount"],
			"currency": b.currency, "proration": l["proration"],
		})
	}
	o := object{
		"id": b.id, "object": "invoice", "customer": b.customer, "subscription": b.sub, "status": b.status, "number": b.number,
		"billing_reason": b.reason, "total": b.amount, "amount_due": b.amount, "currency": b.currency, "created": b.created.Unix(), "livemode": false,
		"paid": b.status == "paid", "hosted_invoice_url": s.c.URL + "/invoice/" + b.id, "payment_intent": "pi_" + b.id,
		"lines": object{"object": "list", "has_more": false, "data": lines},
	}
	if asked(expand, at+"payment_intent") {
		o["payment_intent"] = object{
			"id": "pi_" + b.id, "object": "payment_intent", "status": b.payment, "amount": b.amount, "currency": b.currency, "customer": b.customer,
		}
	}
	return o
}

func (s *Sim) showDispute(d *dispute, expand []string) object {
	o := object{
		"id": d.id, "object": "dispute", "charge": d.charge, "status": d.status, "created": d.created.Unix(), "livemode": false,
		"reason": "general", "currency": "usd", "amount": 0,
	}
	if asked(expand, "charge") {
		o["charge"] = object{"id": d.charge, "object": "charge", "customer": d.customer}
	}
	return o
}

// asked reports whether a path, or something below it, is to be expanded.
func asked(expand []string, path string) bool {
	return slices.ContainsFunc(expand, func(e string) bool {
		return e == path || len(e) > len(path) && e[:len(path)+1] == path+"."
	})
}
