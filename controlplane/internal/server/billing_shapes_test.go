package server_test

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/child"
	"modelgate.internal/shared/wire"
)

// stripeMock is where `make stripe-mock` puts Stripe's own fake, which judges requests by the published description of the interface.
const stripeMock = "../../../.tools/bin/stripe-mock"

// mockStarts is how long stripe-mock may take until it listens.
const mockStarts = 30 * time.Second

// shapes sends what the simulator is asked to stripe-mock as well. It keeps no state, so the simulator's answers count.
type shapes struct {
	next http.Handler
	mock string // base URL

	mu    sync.Mutex
	kinds map[string]bool // method and path that were judged
	wrong []string
}

// startMock starts stripe-mock and returns its base URL. It fails when there is none: a check that was skipped has not passed.
func startMock(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), stripeMock, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stdout, cmd.Stderr = in, in
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("there is no stripe-mock: run make stripe-mock. %v", err)
	}
	t.Cleanup(func() { p.Stop(child.Step{Signal: syscall.SIGTERM, Wait: time.Second}); out.Close() })
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if at, ok := strings.CutPrefix(lines.Text(), "Listening for HTTP at address: "); ok {
				address <- "http://" + at
			}
		}
	}()
	select {
	case at := <-address:
		return at
	case <-p.Done():
		t.Fatalf("stripe-mock has ended: %v", p.Err())
	case <-time.After(mockStarts):
		t.Fatal("stripe-mock does not listen")
	}
	return ""
}

// ident is an id in a path.
var ident = regexp.MustCompile(`[a-z]+_sim[a-z0-9]+|modelgate_[a-z]+`) //nolint:gochecknoglobals // compiled once

func (s *shapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasSuffix(r.Header.Get("Authorization"), "_seller") {
		s.judge(r, body)
	}
	s.next.ServeHTTP(w, r)
}

func (s *shapes) judge(r *http.Request, body []byte) {
	kind := r.Method + " " + ident.ReplaceAllString(r.URL.Path, "{id}")
	verdict := ""
	if status, text, err := s.ask(r, body); err != nil {
		verdict = err.Error()
	} else if status >= http.StatusBadRequest {
		verdict = text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[kind] = true
	if verdict != "" {
		s.wrong = append(s.wrong, kind+" "+r.URL.RawQuery+" "+string(body)+": "+verdict)
	}
}

// ask repeats a request with a key that stripe-mock takes.
func (s *shapes) ask(r *http.Request, body []byte) (status int, text string, err error) {
	again, err := http.NewRequestWithContext(r.Context(), r.Method, s.mock+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	again.Header = r.Header.Clone()
	again.Header.Set("Authorization", "Bearer sk_test_123")
	res, err := http.DefaultClient.Do(again)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, string(answer), err
}

// requests are all kinds of requests that package billing makes. Each call of Stripe's library in its source is one.
func requests() map[string]string {
	return map[string]string{
		"checkout.Expire":      "POST /v1/checkout/sessions/{id}/expire",
		"checkout.Get":         "GET /v1/checkout/sessions/{id}",
		"checkout.New":         "POST /v1/checkout/sessions",
		"customer.Get":         "GET /v1/customers/{id}",
		"customer.New":         "POST /v1/customers",
		"dispute.Get":          "GET /v1/disputes/{id}",
		"invoice.List":         "GET /v1/invoices",
		"invoice.Upcoming":     "GET /v1/invoices/upcoming",
		"portal.New":           "POST /v1/billing_portal/sessions",
		"price.List":           "GET /v1/prices",
		"price.New":            "POST /v1/prices",
		"product.Get":          "GET /v1/products/{id}",
		"product.New":          "POST /v1/products",
		"subscription.Cancel":  "DELETE /v1/subscriptions/{id}",
		"subscription.Get":     "GET /v1/subscriptions/{id}",
		"subscription.List":    "GET /v1/subscriptions",
		"subscription.Update":  "POST /v1/subscriptions/{id}",
		"webhookendpoint.List": "GET /v1/webhook_endpoints",
	}
}

// called are the calls of Stripe's library in the source of package billing.
func called(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir("../billing")
	if err != nil {
		t.Fatal(err)
	}
	client, found := regexp.MustCompile(`(\w+)\.Client\{`), map[string]bool{}
	call := regexp.MustCompile(`\(?(\w+)\.Client\{[^}]*\}\)?\.(\w+)\(`)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile("../billing/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		calls := call.FindAllSubmatch(text, -1)
		if made := client.FindAll(bytes.ReplaceAll(text, []byte("http.Client{"), nil), -1); len(made) != len(calls) {
			t.Errorf("%s: a client of Stripe's library is not used where it is made, so its requests cannot be known", f.Name())
		}
		for _, c := range calls {
			found[string(c[1])+"."+string(c[2])] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestRequestShapes: stripe-mock refuses no request that this client makes, and was asked every kind of them.
func TestRequestShapes(t *testing.T) {
	table := requests()
	if want, got := slices.Sorted(maps.Keys(table)), called(t); !slices.Equal(got, want) {
		t.Fatalf("package billing calls %v, the table has %v", got, want)
	}
	judged := &shapes{mock: startMock(t), kinds: map[string]bool{}}
	s := openShop(t, nil, func(sim http.Handler) http.Handler {
		judged.next = sim
		return judged
	})
	everyRequest(t, s)
	for _, w := range judged.wrong {
		t.Error(w)
	}
	want := slices.Sorted(maps.Values(table))
	if got := slices.Sorted(maps.Keys(judged.kinds)); !slices.Equal(got, want) {
		t.Errorf("requests of these kinds were judged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// everyRequest has a control plane make requests of every kind.
func everyRequest(t *testing.T, s *shop) {
	t.Helper()
	if err := s.api.Billing.Setup(t.Context(), func(line string) {
		if !strings.HasSuffix(line, "as it should be") {
			t.Errorf("after the second time: %s", line)
		}
	}); err != nil {
		t.Error(err)
	}
	if err := s.api.Billing.CheckWebhook(t.Context()); err == nil || !strings.Contains(err.Error(), "no webhook endpoint") {
		t.Error(err)
	}
	nobodyPaysTwice(t, s) // ends a checkout and a subscription
	b := s.customer(t, true)
	b.verify(t)
	b.portal(t, "resume", "")
	b.state(t)
	must[wire.BillingPreview](t, s.stack, "GET", "/dev/billing/preview?plan=pro", b.token, nil)
	must[wire.BillingState](t, s.stack, "POST", "/dev/billing/subscription", b.token, wire.ChangePlanRequest{Plan: plan.Pro, Interval: "year"})
	must[wire.InvoiceList](t, s.stack, "GET", "/dev/billing/invoices", b.token, nil)
	s.sim.Dispute(b.customerID(t))
	b.portal(t, "cancel-now", "")
	s.deliver(t)
}

// TestAWrongShapeIsFound: the check of shapes sees a parameter that Stripe does not know, and a value of the wrong kind.
func TestAWrongShapeIsFound(t *testing.T) {
	judged := &shapes{next: http.NotFoundHandler(), mock: startMock(t), kinds: map[string]bool{}}
	for _, form := range []url.Values{
		{"customer": {"cus_1"}, "colour": {"red"}},
		{"customer": {"cus_1"}, "cancel_at_period_end": {"perhaps"}},
	} {
		judged.wrong = nil
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/subscriptions", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		judged.judge(r, []byte(form.Encode()))
		if len(judged.wrong) != 1 {
			t.Errorf("%v is taken", form)
		}
	}
}
