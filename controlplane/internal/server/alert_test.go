package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// receiver is somebody's server, which checks what it is sent.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	status  int // that it answers
	secret  string
	now     func() time.Time
	got     []wire.UsageAlert
	invalid int // signatures
}

func newReceiver(t *testing.T, now func() time.Time) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent, now: now}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		var a wire.UsageAlert
		if err := json.Unmarshal(body, &a); err != nil || req.Header.Get(alert.SignatureHeader) != alert.Sign(body, r.secret, r.now()) {
			r.invalid++
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.got = append(r.got, a)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

// alerting is a control plane in development with a clock of its own.
type alerting struct {
	*stack
	t     *testing.T
	clock time.Time
	at    *alert.Alerts
}

func newAlerting(t *testing.T) *alerting {
	t.Helper()
	a := &alerting{stack: newStack(t), t: t, clock: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)}
	a.at = a.replica()
	a.api.Alerts = a.at
	return a
}

// replica is the work of another process on the same database.
func (a *alerting) replica() *alert.Alerts {
	one := *a.api.Alerts
	one.PublicURL, one.Now = "http://127.0.0.1:8080", func() time.Time { return a.clock }
	one.Mailer = newMailer(a.t, a.vault, one.Now) // a letter is due by the clock of who queues it
	return &one
}

// use makes an account's calls of the day.
func (a *alerting) use(t *testing.T, accountID string, calls int64) {
	t.Helper()
	_, err := a.store.ApplyUsage(t.Context(), uuid.NewString(), uuid.NewString(), a.clock, func(next uint64) (*ingest.Delta, error) {
		return &ingest.Delta{Next: next + 1, Accounts: []ingest.AccountDay{
			{Account: uuid.MustParse(accountID), Day: a.clock.Truncate(24 * time.Hour).Unix(), Calls: calls},
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// work does what is due, as one process after another would.
func (a *alerting) work(t *testing.T) {
	t.Helper()
	for range 2 {
		a.clock = a.clock.Add(alert.WatchLeaseFor + time.Second) // the lease of the one before is over
		one := a.replica()
		if err := one.Look(t.Context(), uuid.NewString()); err != nil {
			t.Fatal(err)
		}
		if err := one.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// mails are the alerts that wait for an address.
func (a *alerting) mails(t *testing.T, to string) (texts []string) {
	t.Helper()
	letters, err := a.store.ClaimMail(t.Context(), a.clock.Add(time.Hour), a.clock, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		if l.Recipient != to || l.Template != "usage-alert" {
			continue
		}
		text, err := a.vault.Open(l.Sealed, mail.SealContext(l.ID, l.Recipient))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func (a *alerting) set(t *testing.T, session, scope string, thresholds []int64, hook *receiver) wire.AlertSettings {
	t.Helper()
	s := must[wire.AlertSettings](t, a.stack, "PUT", "/dev/billing/alerts?scope="+scope, session,
		wire.AlertRequest{Thresholds: thresholds, Mail: true, WebhookURL: &hook.URL})
	if s.WebhookSecret != nil {
		hook.secret = *s.WebhookSecret
	}
	return s
}

// TestEachThresholdIsToldOnceADay: by mail and by webhook, through restarts, replicas, and a second look.
func TestEachThresholdIsToldOnceADay(t *testing.T) {
	a, n := newAlerting(t), names{}
	a.person(t, n, "ada", "free", true)
	hook := newReceiver(t, func() time.Time { return a.clock })
	if s := a.set(t, n["ada_session"], "account", alert.Thresholds(), hook); s.WebhookSecret == nil {
		t.Fatalf("no secret was shown: %+v", s)
	}
	want := func(when string, thresholds ...int64) {
		t.Helper()
		a.work(t)
		var got []int64
		for _, one := range hook.got {
			got = append(got, one.Threshold)
		}
		if !slices.Equal(got, thresholds) || len(a.mails(t, n["ada_email"])) != len(thresholds) || hook.invalid > 0 {
			t.Fatalf("%s: webhooks %v, %d mails, %d wrong signatures, want %v", when, got, len(a.mails(t, n["ada_email"])), hook.invalid, thresholds)
		}
	}
	a.use(t, n["ada_id"], 49)
	want("below the first threshold")
	a.use(t, n["ada_id"], 1)
	want("at the first", 50)
	if one := hook.got[0]; one.Type != "usage.threshold" || one.AccountID != n["ada_id"] || one.Scope != "account" || one.Calls != 50 || one.Limit != 100 {
		t.Errorf("%+v", one)
	}
	if text := a.mails(t, n["ada_email"])[0]; !strings.Contains(text, "50 of the 100 calls") {
		t.Errorf("the mail says %s", text)
	}
	want("when it is looked at again", 50)
	a.use(t, n["ada_id"], 60)
	want("when two are passed at once", 50, 100)
	a.clock = a.clock.Add(24 * time.Hour)
	want("on a new day", 50, 100)
	a.use(t, n["ada_id"], 85)
	want("on a new day with calls", 50, 100, 80)
	s := must[wire.AlertSettings](t, a.stack, "GET", "/dev/billing/alerts", n["ada_session"], nil)
	if len(s.Deliveries) != 3 || s.Deliveries[0].State != alert.Done || s.WebhookSecret != nil {
		t.Errorf("%+v", s)
	}
}

// TestTwoWatchersAtOnceTellOnce: even when both believe that the lease is theirs.
func TestTwoWatchersAtOnceTellOnce(t *testing.T) {
	a, n := newAlerting(t), names{}
	a.person(t, n, "ada", "free", true)
	hook := newReceiver(t, func() time.Time { return a.clock })
	a.set(t, n["ada_session"], "account", alert.Thresholds(), hook)
	a.use(t, n["ada_id"], 50)
	var all sync.WaitGroup
	for range 4 {
		one := a.replica()
		all.Go(func() {
			if err := one.Look(t.Context(), "the same holder"); err != nil {
				t.Error(err)
			}
			if err := one.Send(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(hook.got) != 1 || len(a.mails(t, n["ada_email"])) != 1 {
		t.Errorf("%d webhooks, %d mails", len(hook.got), len(a.mails(t, n["ada_email"])))
	}
}

// TestAWebhookIsTriedForADay: with the secret that is in force then, and is dead afterwards.
func TestAWebhookIsTriedForADay(t *testing.T) {
	a, n := newAlerting(t), names{}
	a.person(t, n, "ada", "free", true)
	hook := newReceiver(t, func() time.Time { return a.clock })
	a.set(t, n["ada_session"], "account", alert.Thresholds(), hook)
	old := hook.secret
	fresh := must[wire.AlertSecret](t, a.stack, "POST", "/dev/billing/alerts/secret", n["ada_session"], nil).WebhookSecret
	a.use(t, n["ada_id"], 50)
	a.work(t)
	if len(hook.got) != 0 || hook.invalid == 0 || old == fresh {
		t.Fatalf("signed with the old secret: %d, %d", len(hook.got), hook.invalid)
	}
	hook.secret = fresh
	a.clock = a.clock.Add(alert.BackoffMax)
	a.work(t)
	if len(hook.got) != 1 {
		t.Fatalf("not sent again with the new secret: %d", len(hook.got))
	}
	hook.status = http.StatusInternalServerError
	a.use(t, n["ada_id"], 30)
	for range 30 {
		a.work(t)
		a.clock = a.clock.Add(alert.BackoffMax)
	}
	s := must[wire.AlertSettings](t, a.stack, "GET", "/dev/billing/alerts", n["ada_session"], nil)
	d := s.Deliveries[0]
	if d.State != alert.Dead || d.Reason == nil || *d.Reason != "it answered 500" || d.Attempts < 20 {
		t.Errorf("%+v", d)
	}
	ids := make(map[string]int)
	for _, one := range hook.got {
		ids[one.ID]++
	}
	if len(ids) != 2 || ids[d.ID] != int(d.Attempts) {
		t.Errorf("%v, the notification is %+v", ids, d)
	}
}

// TestAnOrganizationsAlertsGoToWhoPays: to its owners and those with the role billing, and nobody else.
func TestAnOrganizationsAlertsGoToWhoPays(t *testing.T) {
	a := newAlerting(t)
	n := a.team(t)
	hook := newReceiver(t, func() time.Time { return a.clock })
	a.set(t, n["billing_session"], "organization", []int64{80}, hook)
	a.use(t, n["org"], 80_000)
	a.work(t)
	if len(hook.got) != 1 || hook.got[0].Scope != "organization" || hook.got[0].AccountID != n["org"] {
		t.Errorf("%+v", hook.got)
	}
	for _, role := range roles() {
		want := 0
		if role == "owner" || role == "billing" {
			want = 1
		}
		if got := len(a.mails(t, n[role+"_email"])); got != want {
			t.Errorf("%s got %d mails", role, got)
		}
	}
}

// TestAWebhookCanBeTested: once in a while, as the account that it belongs to, and it says that it is a test.
func TestAWebhookCanBeTested(t *testing.T) {
	a, n := newAlerting(t), names{}
	a.person(t, n, "ada", "free", true)
	hook := newReceiver(t, func() time.Time { return a.clock })
	a.set(t, n["ada_session"], "account", alert.Thresholds(), hook)
	s := must[wire.AlertSettings](t, a.stack, "POST", "/dev/billing/alerts/test", n["ada_session"], nil)
	if len(s.Deliveries) != 1 || s.Deliveries[0].State != alert.Waiting || s.Deliveries[0].Threshold != 0 {
		t.Fatalf("%+v", s)
	}
	w := a.do(t, "POST", "/dev/billing/alerts/test", n["ada_session"], nil)
	documented(t, "testAlert", w)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("a second test: %d %s", w.Code, w.Body)
	}
	a.work(t)
	if len(hook.got) != 1 || hook.got[0].Type != alert.TypeTest || hook.got[0].AccountID != n["ada_id"] || hook.got[0].Scope != "account" {
		t.Fatalf("%+v, %d invalid", hook.got, hook.invalid)
	}
	must[wire.AlertSettings](t, a.stack, "POST", "/dev/billing/alerts/test", n["ada_session"], nil)
	a.use(t, n["ada_id"], 50)
	a.work(t)
	if len(hook.got) != 3 || len(a.mails(t, n["ada_email"])) != 1 {
		t.Errorf("a test kept a threshold from being told: %+v", hook.got)
	}
}

// TestWireAlerts holds the transcripts of the settings.
func TestWireAlerts(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	testkit.Transcripts(t, "testdata/alerts", func(t *testing.T, request []byte) []byte {
		n := a.team(t)
		if strings.Contains(string(request), "{told_session}") {
			a.person(t, n, "told", "free", true)
			must[wire.AlertSettings](t, a.stack, "PUT", "/dev/billing/alerts", n["told_session"], `{"thresholds":[50],"mail":false,"webhook_url":"http://127.0.0.1:1/"}`)
			a.use(t, n["told_id"], 50)
			a.work(t)
		}
		return a.exchange(t, request, n)
	})
}
