package server_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/wire"
)

// Steps of the pipeline, and what ends there: the process, right after the step.
const (
	stepVerified = "verified" // nothing is stored
	stepStored   = "stored"   // Stripe was not answered
	stepClaimed  = "claimed"  // nothing was fetched
	stepFetched  = "fetched"  // nothing was applied
	stepApplied  = "applied"  // and nothing noted
	stepMarked   = "marked"   // and what else was claimed is left
)

// mortal is a store whose process ends once, after a step.
type mortal struct {
	*store.Store
	at   string // empty when it has ended, or never will
	died int
}

// died is what a process that ended panics with.
type died struct{ step string }

func (m *mortal) reached(step string) {
	if m.at == step {
		m.at = ""
		m.died++
		panic(died{step})
	}
}

func (m *mortal) AddEvent(ctx context.Context, e billing.Event, now time.Time) (bool, error) {
	m.reached(stepVerified)
	fresh, err := m.Store.AddEvent(ctx, e, now)
	m.reached(stepStored)
	return fresh, err
}

func (m *mortal) ClaimEvents(ctx context.Context, now, until time.Time, limit int) ([]billing.Event, error) {
	found, err := m.Store.ClaimEvents(ctx, now, until, limit)
	if len(found) > 0 {
		m.reached(stepClaimed)
	}
	return found, err
}

func (m *mortal) ClaimAccounts(ctx context.Context, now, until time.Time, limit int) ([]string, error) {
	found, err := m.Store.ClaimAccounts(ctx, now, until, limit)
	if len(found) > 0 {
		m.reached(stepClaimed)
	}
	return found, err
}

func (m *mortal) Apply(ctx context.Context, a billing.Account, s billing.Snapshot, now time.Time) (billing.Applied, error) {
	m.reached(stepFetched)
	done, err := m.Store.Apply(ctx, a, s, now)
	m.reached(stepApplied)
	return done, err
}

func (m *mortal) FinishEvent(ctx context.Context, id, outcome string, now time.Time) error {
	err := m.Store.FinishEvent(ctx, id, outcome, now)
	m.reached(stepMarked)
	return err
}

// process is a control plane that may end in the middle of its work.
type process struct {
	s  *shop
	m  *mortal
	is *billing.Billing
}

// process starts one that ends after a step; an empty one never.
func (s *shop) process(t *testing.T, step string) *process {
	t.Helper()
	p := &process{s: s, m: &mortal{Store: s.store, at: step}, is: s.replica(t)}
	p.is.Store = p.m
	return p
}

// take brings a notification until it is answered with 200, as Stripe does. Whoever starts in place of a process that ended takes it.
func (p *process) take(t *testing.T, e stripesim.Event) {
	t.Helper()
	healthy := p.s.api.Billing
	defer func() { p.s.api.Billing = healthy }()
	p.s.api.Billing = p.is
	for range 3 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/dev/billing/webhook", bytes.NewReader(e.Body))
		r.Header.Set("Stripe-Signature", stripesim.Sign(e.Body, webhookSecret, time.Now()))
		w := httptest.NewRecorder()
		p.s.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			return
		}
		p.s.api.Billing = healthy
	}
	t.Fatalf("%s is not taken", e.Type)
}

// work does what is due, until the process ends.
func (p *process) work(t *testing.T) {
	t.Helper()
	defer func() {
		if why := recover(); why != nil {
			if _, ok := why.(died); !ok {
				panic(why)
			}
		}
	}()
	if err := p.is.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// survive has a process that ends after a step take what the simulator sent since and work on it, and another one after it. It returns
// how often the first one ended.
func (s *shop) survive(t *testing.T, step string) int {
	t.Helper()
	p := s.process(t, step)
	events := s.sim.Events()
	for _, e := range events[s.sent:] {
		p.take(t, e)
	}
	s.sent = len(events)
	p.work(t)
	s.sim.Advance(billing.ClaimFor + time.Second)
	s.work(t)
	return p.m.died
}

// made are ids of ours and of the simulator.
var made = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[a-z]+_sim[a-z0-9]+`) //nolint:gochecknoglobals // compiled once

// effects are all that the work on a buyer's notifications has done: state, apps, audit records, mails, and notifications by state.
func (b *buyer) effects(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	var text strings.Builder
	fmt.Fprintln(&text, b.outcome(t))
	apps, err := b.s.store.AppStates(ctx, b.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range apps {
		fmt.Fprintln(&text, "app", a.Name, a.SuspendedAt != nil)
	}
	records, err := b.s.store.AuditRecords(ctx, audit.Query{Chain: b.id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Operation == "internal" {
			fmt.Fprintln(&text, "audit", r.Kind, *r.Before, *r.After)
		}
	}
	letters, err := b.s.store.ClaimMail(ctx, time.Now().Add(time.Hour), time.Now(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	email := must[wire.Developer](t, b.s.stack, "GET", "/dev/auth/me", b.token, nil).Email
	for _, l := range letters {
		if l.Recipient == email {
			fmt.Fprintln(&text, "mail", l.Template)
		}
	}
	events, err := b.s.store.Events(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	customer := b.customerID(t)
	var kinds []string
	for _, e := range events {
		if e.CustomerID == customer {
			kinds = append(kinds, e.Type+" "+e.State)
		}
	}
	slices.Sort(kinds)
	fmt.Fprintln(&text, strings.Join(kinds, "\n"))
	return made.ReplaceAllString(text.String(), "id")
}

// history is a developer who buys Pro, makes more apps than Free has room for, cancels and does not choose, while processes end after a
// step in each part. It returns what that did, and how often a process ended.
func (s *shop) history(t *testing.T, step string) (did string, ended int) {
	t.Helper()
	version := func() uint64 {
		c, err := s.store.Cursor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return uint64(c.Version)
	}
	b := s.buyer(t)
	before := version()
	b.checkout(t, plan.Pro, stripesim.CardGood)
	ended += s.survive(t, step)
	b.wantPlan(t, plan.Pro, "after the purchase")
	for _, name := range []string{"Second", "Third"} {
		must[wire.App](t, s.stack, "POST", "/dev/apps", b.token, `{"name":"`+name+`"}`)
	}
	b.portal(t, "cancel-now", "")
	ended += s.survive(t, step)
	b.wantPlan(t, plan.Free, "after the end")
	s.sim.Advance(billing.ChooseFor)
	ended += s.survive(t, step) // nothing but the clock
	return fmt.Sprintf("%s%d versions for the nodes", b.effects(t), version()-before), ended
}

// TestACrashAfterAnyStep: a process that ends after any step of the pipeline leaves nothing undone and nothing done twice.
func TestACrashAfterAnyStep(t *testing.T) {
	s := newShop(t)
	want, _ := s.history(t, "")
	if !strings.Contains(want, "app Third true") || strings.Count(want, "audit account") != 2 || !strings.Contains(want, "subscription.deleted done") {
		t.Fatalf("the history is not what the test is made for:\n%s", want)
	}
	for step, ends := range map[string]int{
		stepVerified: 2, stepStored: 2, stepClaimed: 3, stepFetched: 3, stepApplied: 3, stepMarked: 2, // the third part has no notification
	} {
		t.Run(step, func(t *testing.T) {
			got, ended := s.history(t, step)
			if ended != ends {
				t.Errorf("%d processes ended, want %d", ended, ends)
			}
			if got != want {
				t.Errorf("what was done with processes that end:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}
