package stripesim

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// KeyPrefix is what a key for the simulator begins with. Any other, Stripe's above all, is refused.
const KeyPrefix = "sk_simulated_"

// Version is the version of the interface that is simulated.
const Version = "2023-10-16"

// What Stripe does by itself.
const (
	UnpaidFor     = 21 * 24 * time.Hour // a past_due subscription, before it is canceled or unpaid
	BankFor       = 4 * 24 * time.Hour  // a bank, to answer whether it pays
	incompleteFor = 23 * time.Hour      // a first payment, before the subscription is incomplete_expired
	sessionFor    = 24 * time.Hour
)

// Cards and accounts at a bank.
const (
	CardGood        = "4242424242424242"
	CardSecure      = "4000002760003184"
	CardDeclined    = "4000000000000002"
	CardFailsLater  = "4000000000000341"
	BankGood        = "000123456789" // an account at a bank, which answers after [BankFor]
	BankFails       = "000111111116"
	noCard          = "" // it was removed
	outcomePaid     = "succeeded"
	outcomeBank     = "processing"
	outcomeAction   = "requires_action"
	outcomeDeclined = "requires_payment_method"
)

// Config is what a simulator is made of.
type Config struct {
	URL        string           // how browsers reach it, without a slash at its end
	WebhookURL string           // where notifications go; empty keeps them for [Sim.Events]
	Secret     string           // signs them
	Now        func() time.Time // time.Now when nil
	Client     *http.Client     // sends them; a client of its own when nil
}

type (
	customer struct {
		id, email, name string
		metadata        map[string]string
		deleted         bool
		created         time.Time
	}
	product struct {
		id, name string
		metadata map[string]string
	}
	price struct {
		id, product, lookup, currency, interval string
		amount                                  int64
		metadata                                map[string]string
		active                                  bool
	}
	session struct {
		id, customer, ref, price, success, cancel, status, sub string
		created                                                time.Time
	}
	subscription struct {
		id, customer, price, item, status, invoice, card string
		created, start, end                              time.Time
		cancelAtEnd                                      bool
		pause                                            bool // when a trial ends without a card
	}
	bill struct {
		id, number, customer, sub, status, currency, payment string // payment is the state of its payment intent
		reason                                               string // why it was made
		amount                                               int64
		lines                                                []object
		created                                              time.Time
		back                                                 string // where the browser goes after 3-D Secure
	}
	dispute struct {
		id, customer, charge, status string
		created                      time.Time
	}
	visit struct{ id, customer, back string } // of the portal
)

// object is a JSON object.
type object = map[string]any

// Event is a notification as it is sent.
type Event struct {
	ID   string
	Type string
	Body []byte
}

// Sim is a simulator.
type Sim struct {
	c    Config
	mux  *http.ServeMux
	mail *sender

	mu        sync.Mutex
	ahead     time.Duration // of the clock
	unpaid    bool          // what is past_due is unpaid in the end, not canceled
	n         int           // numbers ids
	run       string        // part of all ids, so that those of two runs differ
	customers map[string]*customer
	products  map[string]*product
	prices    map[string]*price
	sessions  map[string]*session
	subs      map[string]*subscription
	bills     map[string]*bill
	disputes  map[string]*dispute
	visits    map[string]*visit
	order     []string // ids of subscriptions and invoices, oldest first
	answers   map[string][]byte
	events    []Event
}

// New returns a simulator.
func New(c Config) *Sim {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: sendTimeout}
	}
	s := &Sim{
		c: c, run: strings.ToLower(rand.Text()[:8]), customers: map[string]*customer{}, products: map[string]*product{},
		prices: map[string]*price{}, sessions: map[string]*session{}, subs: map[string]*subscription{}, bills: map[string]*bill{},
		disputes: map[string]*dispute{}, visits: map[string]*visit{}, answers: map[string][]byte{},
	}
	s.mail = &sender{client: c.Client, url: c.WebhookURL, secret: c.Secret}
	s.routes()
	return s
}

// Now is the time of the simulator's clock.
func (s *Sim) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Sim) now() time.Time { return s.c.Now().Add(s.ahead).UTC().Truncate(time.Second) }

// Events returns the notifications so far, oldest first.
func (s *Sim) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Wait returns when every notification was sent or given up.
func (s *Sim) Wait() { s.mail.wait() }

func (s *Sim) id(kind string) string {
	s.n++
	return fmt.Sprintf("%s_sim%s%06d", kind, s.run, s.n)
}

// pay begins a subscription with a card, as the checkout page does. It reports whether the card was declined.
func (s *Sim) pay(c *session, card string) (declined bool) {
	if card == CardDeclined {
		return true
	}
	now := s.now()
	sub := &subscription{id: s.id("sub"), customer: c.customer, price: c.price, item: s.id("si"), card: card, created: now, start: now}
	sub.end = s.after(sub.price, now)
	s.subs[sub.id], s.order = sub, append(s.order, sub.id)
	p := s.prices[c.price]
	b := s.bill(sub, "subscription_create", p.amount, object{"description": s.products[p.product].name, "amount": p.amount, "proration": false})
	b.back = strings.ReplaceAll(c.success, "{CHECKOUT_SESSION_ID}", c.id)
	c.status, c.sub = "complete", sub.id
	switch card {
	case CardSecure:
		sub.status, b.payment = "incomplete", outcomeAction
		s.tell("customer.subscription.created", s.showSub(sub, nil, ""))
		s.tell("invoice.payment_action_required", s.showBill(b, nil, ""))
	case BankGood, BankFails: // as Stripe does: active from the beginning, paid days later
		sub.status, b.payment = "active", outcomeBank
		s.tell("customer.subscription.created", s.showSub(sub, nil, ""))
	default:
		sub.status = "active"
		s.settle(b)
		s.tell("customer.subscription.created", s.showSub(sub, nil, ""))
		s.tell("invoice.paid", s.showBill(b, nil, ""))
	}
	s.tell("checkout.session.completed", s.showSession(c, nil))
	return false
}

// authenticate ends the 3-D Secure step of an invoice.
func (s *Sim) authenticate(b *bill, ok bool) {
	if b.status != "open" || b.payment != outcomeAction {
		return
	}
	if !ok {
		b.payment = outcomeDeclined
		s.tell("invoice.payment_failed", s.showBill(b, nil, ""))
		return
	}
	s.collect(b)
}

// answerOfBank ends the payment from an account at a bank.
func (s *Sim) answerOfBank(b *bill) {
	sub, kind := s.subs[b.sub], "checkout.session.async_payment_succeeded"
	if sub.card == BankFails {
		kind = "checkout.session.async_payment_failed"
		b.payment, sub.status = outcomeDeclined, "past_due"
		s.tell("invoice.payment_failed", s.showBill(b, nil, ""))
		s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
	} else {
		s.collect(b)
	}
	for _, c := range s.sessions {
		if c.sub == sub.id {
			s.tell(kind, s.showSession(c, nil))
		}
	}
}

// LeaveUnpaid sets what becomes of a subscription that is past_due for [UnpaidFor]: unpaid, or canceled, which is the beginning.
// A seller chooses that in Stripe's settings.
func (s *Sim) LeaveUnpaid(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unpaid = on
}

// collect takes the money of an open invoice and makes its subscription active.
func (s *Sim) collect(b *bill) {
	s.settle(b)
	s.tell("invoice.paid", s.showBill(b, nil, ""))
	if sub := s.subs[b.sub]; sub != nil && sub.status != "canceled" && sub.status != "active" {
		sub.status = "active"
		s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
	}
}

func (s *Sim) settle(b *bill) { b.status, b.payment = "paid", outcomePaid }

// bill makes an open invoice, the newest of the subscription. reason is why, as Stripe names it.
func (s *Sim) bill(sub *subscription, reason string, amount int64, lines ...object) *bill {
	b := &bill{
		id: s.id("in"), customer: sub.customer, sub: sub.id, status: "open", currency: s.prices[sub.price].currency, amount: amount,
		payment: outcomeDeclined, reason: reason, lines: lines, created: s.now(),
	}
	b.number = fmt.Sprintf("SIM-%04d", s.n)
	s.bills[b.id], sub.invoice, s.order = b, b.id, append(s.order, b.id)
	return b
}

// end cancels a subscription.
func (s *Sim) end(sub *subscription, status string) {
	sub.status = status
	if b := s.bills[sub.invoice]; b != nil && b.status == "open" {
		b.status = "void"
	}
	kind := "customer.subscription.deleted"
	if status == "incomplete_expired" {
		kind = "customer.subscription.updated"
	}
	s.tell(kind, s.showSub(sub, nil, ""))
}

// after is the end of a period.
func (s *Sim) after(priceID string, at time.Time) time.Time {
	if s.prices[priceID].interval == "year" {
		return at.AddDate(1, 0, 0)
	}
	return at.AddDate(0, 1, 0)
}

// Dispute disputes the last payment of a customer and returns the dispute's id.
func (s *Sim) Dispute(customerID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &dispute{id: s.id("dp"), customer: customerID, charge: s.id("ch"), status: "needs_response", created: s.now()}
	s.disputes[d.id] = d
	s.tell("charge.dispute.created", s.showDispute(d, nil))
	return d.id
}

// SettleDispute ends a dispute in favour of the seller.
func (s *Sim) SettleDispute(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.disputes[id]
	d.status = "won"
	s.tell("charge.dispute.closed", s.showDispute(d, nil))
}
