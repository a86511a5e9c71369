package stripesim

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page is what every page is made of.
type page struct {
	Title, Text, Error string
	Card               bool   // asks for a card
	Buttons            []step // beside it
	Back               string
}

// step is a button.
type step struct{ Value, Label string }

var layout = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>{{.Title}} (simulator)</title>
<style>body{font:16px/1.5 system-ui;max-width:32rem;margin:3rem auto;padding:0 1rem}p.sim{background:#fff3c4;color:#4a3b00;padding:.5rem 1rem}
p.error{color:#a40000}input,button{font:inherit;padding:.5rem;margin:.25rem 0;width:100%;box-sizing:border-box}</style>
<p class="sim">This is a SIMULATOR of Stripe. Nobody pays here; enter no card of yours.</p>
<h1>{{.Title}}</h1><p>{{.Text}}</p>{{with .Error}}<p class="error" role="alert">{{.}}</p>{{end}}
<form method="post">{{if .Card}}<label>Card number <input name="card" value="4242 4242 4242 4242" inputmode="numeric"></label>
<button name="do" value="pay">Pay with this card</button>{{end}}
{{range .Buttons}}<button name="do" value="{{.Value}}">{{.Label}}</button>{{end}}</form>
{{with .Back}}<p><a href="{{.}}">Back</a></p>{{end}}`)) //nolint:gochecknoglobals // a template, parsed once

func show(w http.ResponseWriter, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'unsafe-inline'")
	_ = layout.Execute(w, p) // fails when the reader has gone
}

func (s *Sim) pages() {
	for pattern, do := range map[string]func(http.ResponseWriter, *http.Request){
		"GET /pay/{id}": s.payPage, "POST /pay/{id}": s.payForm,
		"GET /invoice/{id}": s.invoicePage, "POST /invoice/{id}": s.invoiceForm,
		"GET /portal/{id}": s.portalPage, "POST /portal/{id}": s.portalForm,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			do(w, r)
		})
	}
}

func money(amount int64, currency string) string {
	return fmt.Sprintf("%d.%02d %s", amount/100, amount%100, strings.ToUpper(currency))
}

func cardOf(r *http.Request) string { return strings.ReplaceAll(r.FormValue("card"), " ", "") }

// known reports whether a card is one of the simulator's.
func known(card string) bool {
	switch card {
	case CardGood, CardSecure, CardDeclined, CardFailsLater, BankGood, BankFails:
		return true
	default:
		return false
	}
}

func (s *Sim) payPage(w http.ResponseWriter, r *http.Request) {
	c := s.sessions[r.PathValue("id")]
	if c == nil || c.status != "open" {
		http.Error(w, "This checkout is over.", http.StatusGone)
		return
	}
	s.showPay(w, c, "")
}

func (s *Sim) showPay(w http.ResponseWriter, c *session, problem string) {
	p := s.prices[c.price]
	show(w, page{
		Title: "Subscribe to " + s.products[p.product].name, Text: money(p.amount, p.currency) + " for each " + p.interval, Error: problem,
		Card: true, Back: c.cancel,
	})
}

func (s *Sim) payForm(w http.ResponseWriter, r *http.Request) {
	c := s.sessions[r.PathValue("id")]
	switch card := cardOf(r); {
	case c == nil || c.status != "open":
		http.Error(w, "This checkout is over.", http.StatusGone)
	case !known(card):
		s.showPay(w, c, "The simulator knows the cards of its documentation only.")
	case s.pay(c, card):
		s.showPay(w, c, "Your card was declined.")
	default:
		b := s.bills[s.subs[c.sub].invoice]
		if b.payment == outcomeAction {
			http.Redirect(w, r, "/invoice/"+b.id, http.StatusSeeOther)
			return
		}
		http.Redirect(w, r, b.back, http.StatusSeeOther)
	}
}

func (s *Sim) invoicePage(w http.ResponseWriter, r *http.Request) {
	b := s.bills[r.PathValue("id")]
	if b == nil {
		http.NotFound(w, r)
		return
	}
	p := page{Title: "Invoice " + b.number, Text: money(b.amount, b.currency) + ", " + b.status, Back: b.back}
	switch {
	case b.status != "open":
	case b.payment == outcomeAction:
		p.Title = "3-D Secure"
		p.Text = "Your bank asks whether you pay " + money(b.amount, b.currency) + "."
		p.Buttons = []step{{"authenticate", "Complete authentication"}, {"fail", "Fail authentication"}}
	default:
		p.Card = true
	}
	show(w, p)
}

func (s *Sim) invoiceForm(w http.ResponseWriter, r *http.Request) {
	b := s.bills[r.PathValue("id")]
	if b == nil {
		http.NotFound(w, r)
		return
	}
	switch r.FormValue("do") {
	case "authenticate":
		s.authenticate(b, true)
	case "fail":
		s.authenticate(b, false)
	case "pay":
		if card := cardOf(r); known(card) && b.status == "open" && card != CardDeclined {
			s.subs[b.sub].card = card
			s.collect(b)
		}
	}
	back := b.back
	if back == "" {
		back = "/invoice/" + b.id
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

func (s *Sim) portalPage(w http.ResponseWriter, r *http.Request) {
	v := s.visits[r.PathValue("id")]
	if v == nil {
		http.NotFound(w, r)
		return
	}
	p := page{Title: "Billing portal", Text: "There is no subscription.", Back: v.back}
	for _, sub := range s.ofCustomer(v.customer) {
		if !sub.managed() {
			continue
		}
		p.Card = true
		p.Text = fmt.Sprintf("%s: %s, until %s, card %s", s.products[s.prices[sub.price].product].name, sub.status, sub.end.Format(time.DateOnly), sub.last4())
		p.Buttons = []step{
			{"cancel", "Cancel at the end of the period"}, {"resume", "Do not cancel"}, {"cancel-now", "Cancel now"}, {"forget", "Remove the card"},
		}
		break
	}
	show(w, p)
}

func (s *Sim) portalForm(w http.ResponseWriter, r *http.Request) {
	v := s.visits[r.PathValue("id")]
	if v == nil {
		http.NotFound(w, r)
		return
	}
	for _, sub := range s.ofCustomer(v.customer) {
		if sub.managed() {
			s.manage(sub, r)
			break
		}
	}
	http.Redirect(w, r, "/portal/"+v.id, http.StatusSeeOther)
}

func (s *Sim) manage(sub *subscription, r *http.Request) {
	switch r.FormValue("do") {
	case "cancel-now":
		s.end(sub, "canceled")
		return
	case "cancel", "resume":
		sub.cancelAtEnd = r.FormValue("do") == "cancel"
	case "forget":
		sub.card = noCard
	case "pay":
		if card := cardOf(r); known(card) {
			s.use(sub, card)
		}
	}
	s.tell("customer.subscription.updated", s.showSub(sub, nil, ""))
}

// use puts another card in place of a subscription's, and charges it with what is open.
func (s *Sim) use(sub *subscription, card string) {
	sub.card = card
	if b := s.bills[sub.invoice]; b.status == "open" && card == CardGood {
		s.collect(b)
	}
	if sub.status == "paused" {
		s.resume(sub)
	}
}

// controls are what a test or a developer does to the simulator.
func (s *Sim) controls() {
	s.mux.HandleFunc("POST /_sim/advance", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseInt(r.FormValue("seconds"), 10, 64)
		if err != nil || seconds < 0 {
			fail(w, wrong("seconds: want a number that is not below zero"))
			return
		}
		s.Advance(time.Duration(seconds) * time.Second)
		answer(w, http.StatusOK, object{"now": s.Now()})
	})
	s.mux.HandleFunc("POST /_sim/faults", func(w http.ResponseWriter, r *http.Request) {
		number := func(name string) float64 {
			n, _ := strconv.ParseFloat(r.FormValue(name), 64)
			return n
		}
		s.SetFaults(Faults{
			Delay: time.Duration(number("delay_ms")) * time.Millisecond, Duplicate: number("duplicate"), Loss: number("loss"),
			Shuffle: r.FormValue("shuffle") == "true",
		})
		answer(w, http.StatusOK, object{"ok": true})
	})
	s.mux.HandleFunc("POST /_sim/dispute", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, object{"dispute": s.Dispute(r.FormValue("customer"))})
	})
	s.mux.HandleFunc("GET /_sim/events", func(w http.ResponseWriter, _ *http.Request) {
		list := []object{}
		for _, e := range s.Events() {
			list = append(list, object{"id": e.ID, "type": e.Type})
		}
		answer(w, http.StatusOK, list)
	})
}
