package server_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/stripesim"
)

// outcome is what must not depend on the order of notifications.
func (b *buyer) outcome(t *testing.T) string {
	t.Helper()
	subs, err := b.s.store.Subscriptions(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.s.store.BillingAccount(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.s.store.Developer(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s", d.Plan, a.Plan)
	for _, s := range subs {
		fmt.Fprintf(&text, "; %s %s %s", s.ID, s.Status, s.Plan)
	}
	return text.String()
}

// permutations calls f with every order of the numbers below n.
func permutations(n int, f func([]int)) {
	order := make([]int, 0, n)
	used := make([]bool, n)
	var place func()
	place = func() {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !used[i] {
				used[i], order = true, append(order, i)
				place()
				used[i], order = false, order[:len(order)-1]
			}
		}
	}
	place()
}

// TestEveryOrderEndsTheSame: all orders of the notifications of a purchase with 3-D Secure, each of them also doubled, end in
// the same state, whether they come at the end or while things still happen.
func TestEveryOrderEndsTheSame(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.buyer(t)
	page := b.checkout(t, plan.Pro, stripesim.CardSecure)
	s.browse(t, page, map[string][]string{"do": {"authenticate"}})
	events := s.sim.Events()
	if len(events) != 5 {
		t.Fatalf("%d notifications, the test is made for 5", len(events))
	}
	want, n := "", 0
	permutations(len(events), func(order []int) {
		for _, i := range order {
			for copies := 1 + (n+i)%2; copies > 0; copies-- {
				s.notify(t, again(events[i], n))
			}
			if n%12 == 0 {
				s.work(t)
			}
		}
		s.work(t)
		got := b.outcome(t)
		if want == "" {
			want = got
		}
		if got != want || !strings.HasPrefix(got, "pro pro") {
			t.Fatalf("order %v ends with %s, others with %s", order, got, want)
		}
		n++
	})
	if n != 120 {
		t.Errorf("%d orders", n)
	}
}

// again is a notification with another id, so that it is stored anew in each round.
func again(e stripesim.Event, round int) stripesim.Event {
	id := fmt.Sprintf("%s_%d", e.ID, round)
	return stripesim.Event{ID: id, Type: e.Type, Body: []byte(strings.Replace(string(e.Body), `"`+e.ID+`"`, `"`+id+`"`, 1))}
}

// TestRandomHistories: whatever happens at Stripe, and however its notifications are lost, doubled, delayed and shuffled, what is in
// force in the end is what Stripe says, once the last notification or the hourly comparison has been applied.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := s.buyer(t)
		b.checkout(t, plan.Starter, stripesim.CardGood)
		b.verify(t)
		var late []stripesim.Event
		for range 12 {
			switch r.IntN(6) {
			case 0:
				b.portal(t, []string{"cancel", "resume", "cancel-now"}[r.IntN(3)], "")
			case 1:
				b.portal(t, "pay", []string{stripesim.CardGood, stripesim.CardFailsLater}[r.IntN(2)])
			case 2:
				s.sim.Advance(time.Duration(r.IntN(20)) * 24 * time.Hour)
			case 3:
				s.do(t, "POST", "/dev/billing/subscription", b.token, fmt.Sprintf(`{"plan":%q}`, []string{"pro", "starter"}[r.IntN(2)]))
			case 4:
				if b.state(t).Subscription == nil {
					s.do(t, "POST", "/dev/billing/checkout", b.token, `{"plan":"pro"}`)
				}
			default:
				s.work(t)
			}
			events := s.sim.Events()
			late = append(late, events[s.sent:]...)
			s.sent = len(events)
			r.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
			for len(late) > 0 && r.IntN(3) > 0 {
				switch e := late[0]; r.IntN(4) {
				case 0: // lost
					late = late[1:]
				case 1: // comes again later
					s.notify(t, e)
				default:
					s.notify(t, e)
					late = late[1:]
				}
			}
		}
		s.advance(t, 2*billing.ReconcileEvery)
		got := b.outcome(t)
		if err := s.replica(t).Sync(t.Context(), b.id); err != nil {
			t.Fatal(err)
		}
		if truth := b.outcome(t); got != truth {
			t.Errorf("seed %d ends with %s, Stripe says %s", seed, got, truth)
		}
	}
}

// TestAnOlderStateIsNotAppliedOverANewerOne: who fetched before somebody else applied has to fetch again.
func TestAnOlderStateIsNotAppliedOverANewerOne(t *testing.T) {
	s := newShop(t)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	a, err := s.store.BillingAccount(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	subs, err := s.store.Subscriptions(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	b.portal(t, "cancel-now", "")
	s.deliver(t)
	if _, err := s.store.Apply(t.Context(), a, billing.Snapshot{Subscriptions: subs}, s.sim.Now()); !errors.Is(err, billing.ErrStale) {
		t.Errorf("the older state was applied: %v", err)
	}
	b.wantPlan(t, plan.Free, "after an older state came late")
}

// TestTwoWorkersAtOnce apply the same notifications.
func TestTwoWorkersAtOnce(t *testing.T) {
	s := newShop(t)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	b.portal(t, "cancel", "")
	for _, e := range s.sim.Events() {
		s.notify(t, e)
	}
	var both sync.WaitGroup
	for range 2 {
		one := s.replica(t)
		both.Go(func() {
			for range 3 {
				if err := one.Work(t.Context()); err != nil {
					t.Error(err)
				}
				if err := one.Sync(t.Context(), b.id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if got := b.outcome(t); !strings.HasPrefix(got, "pro pro") {
		t.Error(got)
	}
	if c, err := s.store.CountEvents(t.Context()); c.Waiting+c.Dead != 0 || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestACrashBetweenTheSteps: a notification that was taken and not finished is taken again when the claim is over, and one that was
// applied but not noted changes nothing when it is applied again.
func TestACrashBetweenTheSteps(t *testing.T) {
	s := newShop(t)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	for _, e := range s.sim.Events() {
		s.notify(t, e)
	}
	now := s.sim.Now()
	claimed, err := s.store.ClaimEvents(t.Context(), now.Add(time.Second), now.Add(billing.ClaimFor), billing.ClaimMax) // and then it crashed
	if err != nil || len(claimed) != 3 {
		t.Fatalf("%d claimed, %v", len(claimed), err)
	}
	b.wantPlan(t, plan.Free, "after a crash before the fetch")
	s.sim.Advance(billing.ClaimFor + time.Second)
	s.work(t)
	b.wantPlan(t, plan.Pro, "after the claim was over")
	before, err := s.store.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, e := range claimed {
		ids = append(ids, e.ID)
	}
	if n, err := s.store.ReplayEvents(t.Context(), ids, s.sim.Now()); n != 3 || err != nil { // applied, and it crashed before the note
		t.Fatalf("%d, %v", n, err)
	}
	s.work(t)
	if after, err := s.store.Cursor(t.Context()); err != nil || after != before {
		t.Errorf("the nodes were told again: %v, %v, %v", before, after, err)
	}
	done, err := s.store.Events(t.Context(), billing.EventDone)
	if err != nil || len(done) != 3 || slices.ContainsFunc(done, func(e billing.StoredEvent) bool { return e.Attempts != 1 }) {
		t.Errorf("%+v %v", done, err)
	}
}

// TestStripeAway: notifications wait, are given up in the end, and are applied when they are replayed.
func TestStripeAway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.away.Store(true)
	w := s.do(t, "GET", "/dev/billing/verify-session?session_id="+b.last, b.token, nil)
	documented(t, "verifyCheckout", w)
	if w.Code != 502 || strings.Contains(w.Body.String(), s.door.URL) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	e := s.sim.Events()[0]
	s.notify(t, e)
	for range billing.AttemptsMax {
		_ = s.api.Billing.Work(t.Context()) // the comparison of the account fails too
		s.sim.Advance(billing.BackoffMax)
	}
	dead, err := s.store.Events(t.Context(), billing.EventDead)
	if err != nil || len(dead) != 1 || dead[0].Attempts != billing.AttemptsMax || dead[0].Reason == "" {
		t.Fatalf("%+v %v", dead, err)
	}
	s.away.Store(false)
	if n, err := s.store.ReplayEvents(t.Context(), nil, s.sim.Now()); n != 1 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	s.work(t)
	b.wantPlan(t, plan.Pro, "after a replay")
}

// TestALostNotification: the hourly comparison makes up for it.
func TestALostNotification(t *testing.T) {
	s := newShop(t)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.work(t)
	s.sim.Advance(billing.ReconcileEvery + time.Minute)
	s.work(t)
	b.wantPlan(t, plan.Pro, "after an hour without any notification")
}
