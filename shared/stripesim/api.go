package stripesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// refusal is an error as the interface answers it.
type refusal struct {
	status        int
	kind, message string
}

func (r *refusal) Error() string { return r.message }

func unknown(what, id string) error {
	return &refusal{http.StatusNotFound, "invalid_request_error", fmt.Sprintf("No such %s: '%s'", what, id)}
}

func wrong(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// request is a request to the interface, with its form.
type request struct {
	form   url.Values
	id     string
	expand []string
}

func (q request) get(name string) string { return q.form.Get(name) }

// list returns name[0], name[1], and so on, also without numbers.
func (q request) list(name string) (values []string) {
	for key, v := range q.form {
		if strings.HasPrefix(key, name+"[") {
			values = append(values, v...)
		}
	}
	return values
}

func (q request) metadata() map[string]string {
	m := map[string]string{}
	for key, v := range q.form {
		if name, ok := strings.CutPrefix(key, "metadata["); ok {
			m[strings.TrimSuffix(name, "]")] = v[0]
		}
	}
	return m
}

func (s *Sim) routes() {
	s.mux = http.NewServeMux()
	for pattern, do := range map[string]func(request) (object, error){
		"POST /v1/customers":                     s.newCustomer,
		"GET /v1/customers/{id}":                 s.getCustomer,
		"DELETE /v1/customers/{id}":              s.deleteCustomer,
		"POST /v1/products":                      s.newProduct,
		"GET /v1/products/{id}":                  s.getProduct,
		"POST /v1/prices":                        s.newPrice,
		"GET /v1/prices":                         s.listPrices,
		"POST /v1/checkout/sessions":             s.newSession,
		"GET /v1/checkout/sessions/{id}":         s.getSession,
		"POST /v1/checkout/sessions/{id}/expire": s.expireSession,
		"POST /v1/billing_portal/sessions":       s.newVisit,
		"GET /v1/subscriptions":                  s.listSubs,
		"GET /v1/subscriptions/{id}":             s.getSub,
		"POST /v1/subscriptions/{id}":            s.changeSub,
		"DELETE /v1/subscriptions/{id}":          s.cancelSub,
		"GET /v1/invoices":                       s.listBills,
		"GET /v1/invoices/upcoming":              s.upcoming,
		"GET /v1/disputes/{id}":                  s.getDispute,
		"GET /v1/webhook_endpoints":              s.listEndpoints,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, do) })
	}
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, object{"status": "ok"}) })
	s.pages()
	s.controls()
}

// ServeHTTP implements [http.Handler].
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Simulator", "stripesim")
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	s.mux.ServeHTTP(w, r)
}

func (s *Sim) serve(w http.ResponseWriter, r *http.Request, do func(request) (object, error)) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !strings.HasPrefix(key, KeyPrefix) {
		fail(w, &refusal{http.StatusUnauthorized, "invalid_request_error", "This is a simulator. It takes no key but one that begins with " + KeyPrefix + "."})
		return
	}
	if err := r.ParseForm(); err != nil {
		fail(w, wrong("%v", err))
		return
	}
	q := request{form: r.Form, id: r.PathValue("id")}
	q.expand = q.list("expand")
	s.mu.Lock()
	defer s.mu.Unlock()
	idempotency := r.Header.Get("Idempotency-Key")
	if before, ok := s.answers[idempotency]; ok && idempotency != "" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(before)
		return
	}
	o, err := do(q)
	if err != nil {
		fail(w, err)
		return
	}
	if idempotency != "" {
		s.answers[idempotency], _ = json.Marshal(o)
	}
	answer(w, http.StatusOK, o)
}

func fail(w http.ResponseWriter, err error) {
	r, ok := err.(*refusal) //nolint:errorlint // ours, never wrapped
	if !ok {
		r = &refusal{http.StatusInternalServerError, "api_error", err.Error()}
	}
	answer(w, r.status, object{"error": object{"type": r.kind, "message": r.message}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails when the caller has gone
}

func listOf(data []object) object { return object{"object": "list", "has_more": false, "data": data} }

func (s *Sim) newCustomer(q request) (object, error) {
	c := &customer{id: s.id("cus"), email: q.get("email"), name: q.get("name"), metadata: q.metadata(), created: s.now()}
	s.customers[c.id] = c
	return s.showCustomer(c), nil
}

func (s *Sim) getCustomer(q request) (object, error) {
	c := s.customers[q.id]
	if c == nil {
		return nil, unknown("customer", q.id)
	}
	return s.showCustomer(c), nil
}

func (s *Sim) deleteCustomer(q request) (object, error) {
	c := s.customers[q.id]
	if c == nil || c.deleted {
		return nil, unknown("customer", q.id)
	}
	s.remove(c)
	return s.showCustomer(c), nil
}

// DeleteCustomer deletes a customer, whose subscriptions end.
func (s *Sim) DeleteCustomer(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.customers[id])
}

func (s *Sim) remove(c *customer) {
	for _, id := range s.order {
		if sub := s.subs[id]; sub != nil && sub.customer == c.id && sub.status != "canceled" && sub.status != "incomplete_expired" {
			s.end(sub, "canceled")
		}
	}
	shown := s.showCustomer(c)
	c.deleted = true
	s.tell("customer.deleted", shown)
}

func (s *Sim) newProduct(q request) (object, error) {
	p := &product{id: q.get("id"), name: q.get("name"), metadata: q.metadata()}
	if p.id == "" {
		p.id = s.id("prod")
	}
	if s.products[p.id] != nil {
		return nil, wrong("Product already exists.")
	}
	s.products[p.id] = p
	return s.showProduct(p), nil
}

func (s *Sim) getProduct(q request) (object, error) {
	p := s.products[q.id]
	if p == nil {
		return nil, unknown("product", q.id)
	}
	return s.showProduct(p), nil
}

func (s *Sim) newPrice(q request) (object, error) {
	p := &price{
		id: s.id("price"), product: q.get("product"), lookup: q.get("lookup_key"), currency: q.get("currency"),
		interval: q.get("recurring[interval]"), metadata: q.metadata(), active: true,
	}
	p.amount, _ = strconv.ParseInt(q.get("unit_amount"), 10, 64)
	if s.products[p.product] == nil {
		return nil, unknown("product", p.product)
	}
	for _, other := range s.prices {
		if p.lookup == "" || other.lookup != p.lookup {
			continue
		}
		if q.get("transfer_lookup_key") != "true" {
			return nil, wrong("A price with lookup key %q exists already.", p.lookup)
		}
		other.lookup = ""
	}
	s.prices[p.id] = p
	return s.showPrice(p), nil
}

func (s *Sim) listPrices(q request) (object, error) {
	keys, found := q.list("lookup_keys"), []object{}
	for _, p := range s.prices {
		if len(keys) == 0 || slices.Contains(keys, p.lookup) {
			found = append(found, s.showPrice(p))
		}
	}
	return listOf(found), nil
}

func (s *Sim) getDispute(q request) (object, error) {
	d := s.disputes[q.id]
	if d == nil {
		return nil, unknown("dispute", q.id)
	}
	return s.showDispute(d, q.expand), nil
}

func (s *Sim) listEndpoints(request) (object, error) {
	found := []object{}
	if s.c.WebhookURL != "" {
		found = append(found, object{
			"id": "we_sim", "object": "webhook_endpoint", "url": s.c.WebhookURL, "api_version": Version, "status": "enabled", "livemode": false,
		})
	}
	return listOf(found), nil
}
