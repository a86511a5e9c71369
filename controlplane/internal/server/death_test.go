package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/wire"
)

const patience = 30 * time.Second // with a database that may not have noticed a death, and a busy machine

// until repeats what another process does in the background until it is done.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// count asks the database for a number.
func (s *stack) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnAlertingProcessThatDies: another one tells what it did not, once. A webhook that was reached before that could be noted is
// reached again, with the same notification.
func TestAnAlertingProcessThatDies(t *testing.T) {
	a := newAlerting(t)
	hook := newReceiver(t, func() time.Time { return a.clock })
	first, scene := a.clock, 0
	storetest.Deaths(t, a.url, func(s *store.Store, die func(func(context.Context) error)) {
		scene++
		a.clock = first.AddDate(0, 0, scene)
		n := names{}
		a.person(t, n, "ada", "free", true)
		a.set(t, n["ada_session"], "account", alert.Thresholds(), hook)
		a.use(t, n["ada_id"], 50)
		hook.got = nil
		die(func(ctx context.Context) error {
			one := a.replica()
			one.Store = s
			if err := one.Look(ctx, uuid.NewString()); err != nil {
				return err
			}
			return one.Send(ctx)
		})
		a.clock = a.clock.Add(alert.ClaimFor)
		until(t, "the webhook is told of", func() bool {
			a.work(t)
			set := must[wire.AlertSettings](t, a.stack, "GET", "/dev/billing/alerts", n["ada_session"], nil)
			return len(set.Deliveries) == 1 && set.Deliveries[0].State == alert.Done
		})
		ids := map[string]bool{}
		for _, told := range hook.got {
			ids[told.ID] = true
		}
		if mails := a.mails(t, n["ada_email"]); len(mails) != 1 || len(ids) != 1 || len(hook.got) > 2 {
			t.Errorf("%d mails, %d webhooks with %d notifications", len(mails), len(hook.got), len(ids))
		}
	})
}

// TestARemovingProcessThatDies: another one removes the rest of the account, and nodes are told of every key once.
func TestARemovingProcessThatDies(t *testing.T) {
	s := newStack(t)
	now := time.Now()
	storetest.Deaths(t, s.url, func(victim *store.Store, die func(func(context.Context) error)) {
		n := names{}
		s.person(t, n, "ada", plan.Pro, true)
		for i := range 2 {
			made := must[wire.App](t, s, "POST", "/dev/apps", n["ada_session"], fmt.Sprintf(`{"name":"Bot %d"}`, i))
			must[wire.NewKey](t, s, "POST", "/dev/apps/"+made.AppID+"/keys", n["ada_session"], nil)
		}
		must[wire.NewDarwinToken](t, s, "POST", "/dev/darwin-tokens", n["ada_session"], `{"name":"laptop"}`)
		if _, err := s.store.ScheduleDeletion(t.Context(), n["ada_id"], account.Deletion{RequestedAt: now, DeleteAt: now}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		remover := func(of *store.Store) *account.Remover {
			at := now
			return &account.Remover{Store: of, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return at }}
		}
		die(func(ctx context.Context) error { return remover(victim).Round(ctx, uuid.NewString()) })
		now = now.Add(10 * time.Minute) // longer than the lease of the dead
		holder := uuid.NewString()
		until(t, "the account is gone", func() bool {
			if err := remover(s.store).Round(t.Context(), holder); err != nil {
				t.Log(err)
			}
			return s.count(t, `SELECT count(*) FROM developers WHERE id = $1`, n["ada_id"]) == 0
		})
		now = now.Add(10 * time.Minute)
		for what, sql := range map[string]string{
			"apps":    `SELECT count(*) FROM apps WHERE developer_id = $1`,
			"keys":    `SELECT count(*) FROM api_keys WHERE developer_id = $1`,
			"records": `SELECT count(*) FROM config_records WHERE body->>'developer_id' = $1::TEXT`,
		} {
			if left := s.count(t, sql, n["ada_id"]); left != 0 {
				t.Errorf("%d %s are left", left, what)
			}
		}
		twice := `SELECT count(*) FROM (SELECT id FROM config_log WHERE gone GROUP BY kind, id HAVING count(*) > 1) AS twice`
		if n := s.count(t, twice); n != 0 {
			t.Errorf("nodes were told of the end of %d keys more than once", n)
		}
	})
}

// TestABillingProcessThatDies: another one applies what was paid, and nodes are told of it once; also when the notifications are lost
// and it is found by comparing.
func TestABillingProcessThatDies(t *testing.T) {
	for _, notified := range []bool{true, false} {
		t.Run(fmt.Sprintf("notified %t", notified), func(t *testing.T) {
			s := newShop(t)
			storetest.Deaths(t, s.url, func(victim *store.Store, die func(func(context.Context) error)) {
				s.payAndDie(t, notified, victim, die)
			})
		})
	}
}

func (s *shop) payAndDie(t *testing.T, notified bool, victim *store.Store, die func(func(context.Context) error)) {
	t.Helper()
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	events := s.sim.Events()
	for _, e := range events[s.sent:] {
		if notified {
			s.notify(t, e)
		}
	}
	s.sent = len(events)
	if !notified {
		s.sim.Advance(billing.ReconcileEvery)
	}
	worker := s.replica(t)
	worker.Store = victim
	die(worker.Work)
	s.sim.Advance(billing.ClaimFor + time.Second)
	until(t, "the plan is the one that was paid", func() bool {
		if err := s.api.Billing.Work(t.Context()); err != nil {
			t.Log(err)
		}
		c, err := s.store.CountEvents(t.Context())
		if err != nil || c.Dead != 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		return c.Waiting == 0 && strings.HasPrefix(b.outcome(t), "pro pro")
	})
	// Of its key: when it was made and when the plan changed.
	if told := s.count(t, `SELECT count(*) FROM config_log WHERE body->>'developer_id' = $1::TEXT`, b.id); told != 2 {
		t.Errorf("nodes were told of the key %d times", told)
	}
}
