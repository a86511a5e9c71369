package api

import (
	"net/http"

	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

func (a *API) billingConfig(w http.ResponseWriter, _ *http.Request) error {
	answer := wire.BillingConfig{Mode: a.Billing.Mode(), Plans: make([]wire.PricedPlan, len(a.Catalog.Plans))}
	if key := a.Billing.PublishableKey(); key != "" {
		answer.PublishableKey = &key
	}
	for i, shown := range a.Catalog.Plans {
		answer.Plans[i] = wire.PricedPlan{Plan: shown, Prices: []wire.Price{}}
		p, _ := plan.ByID(shown.ID)
		for _, price := range p.Prices {
			answer.Plans[i].Prices = append(answer.Plans[i].Prices, wire.Price(price))
		}
	}
	return writeJSON(w, answer)
}

// payerQuery says for whom a caller acts.
type payerQuery struct {
	Scope string `json:"scope" bind:"enum=account|organization,default=account"`
}

// payer is who is billed: the developer, or the developer's organization for those who may act for it.
type payer struct {
	billing.Buyer
	terms       plan.Terms
	developerID string
	scope       string
}

// paying makes a handler of one for whoever is billed.
func (a *API) paying(h func(http.ResponseWriter, *http.Request, payer) error) Handler {
	return a.signedIn(func(w http.ResponseWriter, r *http.Request, developerID string) error {
		var q payerQuery
		if err := bind.Query(r.URL.Query(), &q); err != nil {
			return err
		}
		p, err := a.payer(r, developerID, q.Scope)
		if err != nil {
			return err
		}
		return h(w, r, p)
	})
}

func (a *API) payer(r *http.Request, developerID, scope string) (payer, error) {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return payer{}, err
	}
	if scope == "account" {
		return payer{billing.Buyer{AccountID: d.ID, Email: d.Email, Name: d.Name}, d.Terms(), developerID, scope}, nil
	}
	m, err := a.Orgs.Membership(r.Context(), developerID)
	if err != nil {
		return payer{}, err
	}
	if err := org.Allow(m.Role, org.Pay); err != nil {
		return payer{}, err
	}
	return payer{billing.Buyer{AccountID: m.ID, Email: d.Email, Name: m.Name}, m.Terms(), developerID, scope}, nil
}

func (a *API) checkout(w http.ResponseWriter, r *http.Request, p payer) error {
	var req wire.CheckoutRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	s, err := a.Billing.Begin(r.Context(), p.Buyer, req.Plan, req.Interval)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.CheckoutSession{URL: s.URL, SessionID: s.ID})
}

// billingWebhook takes the raw body: the signature is over its bytes.
func (a *API) billingWebhook(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r, BodyBytesMax)
	if err != nil {
		return err
	}
	if err := a.Billing.Receive(r.Context(), body, r.Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	return writeJSON(w, wire.BillingEventReceived{Received: true})
}

func (a *API) billingPortal(w http.ResponseWriter, r *http.Request, p payer) error {
	s, err := a.Billing.Portal(r.Context(), p.AccountID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.BillingPortal{URL: s.URL})
}

type sessionQuery struct {
	SessionID string `json:"session_id" bind:"required,min=1,max=255"`
}

// verifyCheckout needs no scope: the session says who pays. One of an organization is shown to those who may act for it.
func (a *API) verifyCheckout(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q sessionQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	c, err := a.Billing.Checkout(r.Context(), q.SessionID)
	if err != nil {
		return err
	}
	accountID := developerID
	if c.AccountID != developerID {
		p, err := a.payer(r, developerID, "organization")
		if err != nil {
			return billing.ErrNoSession.Because(err)
		}
		accountID = p.AccountID
	}
	s, err := a.Billing.Verify(r.Context(), accountID, q.SessionID)
	if err != nil {
		return err
	}
	answer := wire.CheckoutState{SessionID: s.SessionID, Status: s.Status, Plan: s.Plan, URL: orNull(s.URL)}
	if s.Status == billing.CheckoutActive { // the plan is in force, and the next call counts by it
		answer.Receipt = a.newestReceipt(r, wait)
	}
	return writeJSON(w, answer)
}

func (a *API) billingState(w http.ResponseWriter, r *http.Request, p payer) error {
	return a.showState(w, r, p, nil)
}

// showState answers with how the payer stands, and with how far a change has come.
func (a *API) showState(w http.ResponseWriter, r *http.Request, p payer, receipt *wire.Receipt) error {
	v, err := a.Billing.View(r.Context(), p.AccountID, p.terms.AppLimit())
	if err != nil {
		return err
	}
	answer := wire.BillingState{Plan: p.terms.Plan, DisputedAt: utc(v.DisputedAt), Receipt: receipt}
	if s := v.Subscription; s != nil {
		answer.Subscription = &wire.BillingSubscription{
			Plan: s.Plan, Interval: s.Interval, Status: s.Status, PeriodEnd: s.PeriodEnd.UTC(), CancelAtPeriodEnd: s.CancelAtPeriodEnd,
			NextAmount: v.NextAmount, Currency: orNull(v.Currency), PaymentMethod: orNull(v.Payment), GraceEndsAt: utc(v.GraceEnds),
		}
	}
	if v.Room.Over {
		answer.OverLimit = &wire.OverLimit{Allowed: v.Room.Allowed, SuspendAt: v.Room.Ends.UTC(), Apps: make([]wire.LimitedApp, len(v.Apps))}
		for i, one := range v.Apps {
			answer.OverLimit.Apps[i] = wire.LimitedApp{
				AppID: one.ID, Name: one.Name, Stays: int64(i) < v.Room.Allowed, Suspended: one.SuspendedAt != nil,
			}
		}
	}
	return writeJSON(w, answer)
}

// showChanged answers with what is true after a change, when the nodes serve by it.
func (a *API) showChanged(w http.ResponseWriter, r *http.Request, p payer, wait bool) error {
	p, err := a.payer(r, p.developerID, p.scope)
	if err != nil {
		return err
	}
	return a.showState(w, r, p, a.newestReceipt(r, wait))
}

func (a *API) changePlan(w http.ResponseWriter, r *http.Request, p payer) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	var req wire.ChangePlanRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Billing.Change(r.Context(), p.AccountID, req.Plan, req.Interval); err != nil {
		return err
	}
	return a.showChanged(w, r, p, wait)
}

type previewQuery struct {
	Plan     string `json:"plan" bind:"required,enum=starter|pro|enterprise"`
	Interval string `json:"interval" bind:"enum=month|year,default=month"`
}

func (a *API) previewPlan(w http.ResponseWriter, r *http.Request, p payer) error {
	var q previewQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	preview, err := a.Billing.Preview(r.Context(), p.AccountID, q.Plan, q.Interval)
	if err != nil {
		return err
	}
	answer := wire.BillingPreview{DueNow: preview.DueNow, Currency: preview.Currency, Lines: make([]wire.InvoiceLine, len(preview.Lines))}
	for i, l := range preview.Lines {
		answer.Lines[i] = wire.InvoiceLine(l)
	}
	return writeJSON(w, answer)
}

func (a *API) listInvoices(w http.ResponseWriter, r *http.Request, p payer) error {
	found, err := a.Billing.Invoices(r.Context(), p.AccountID)
	if err != nil {
		return err
	}
	answer := wire.InvoiceList{Invoices: make([]wire.Invoice, len(found))}
	for i, one := range found {
		answer.Invoices[i] = wire.Invoice{
			InvoiceID: one.ID, Number: orNull(one.Number), Status: one.Status, Amount: one.Amount, Currency: one.Currency,
			CreatedAt: one.CreatedAt, URL: orNull(one.URL),
		}
	}
	return writeJSON(w, answer)
}

func (a *API) keepApps(w http.ResponseWriter, r *http.Request, p payer) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	var req wire.KeepAppsRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Billing.Keep(r.Context(), p.AccountID, req.AppIDs); err != nil {
		return err
	}
	return a.showChanged(w, r, p, wait)
}

// orNull is null for what is not there.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
