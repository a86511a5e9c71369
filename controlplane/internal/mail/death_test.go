package mail_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
)

const patience = 30 * time.Second

// TestAWorkerThatDies loses no letter. One that the server took before the worker could note it comes again, as the same message.
func TestAWorkerThatDies(t *testing.T) {
	o := newOffice(t)
	storetest.Deaths(t, o.url, func(s *store.Store, die func(func(context.Context) error)) {
		o.forget()
		o.post(t, "first-")
		o.post(t, "second-")
		worker, err := mail.NewOutbox(o.mailer, s, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		die(worker.Round)
		o.clock.move(mail.ClaimFor)
		waiting, dead := o.work(t)
		for end := time.Now().Add(patience); waiting > 0 && time.Now().Before(end); { // the database may not have noticed the death
			waiting, dead = o.work(t)
		}
		seen := map[string]int{}
		for _, m := range o.mails() {
			header, _, _ := parts(t, m)
			seen[header.Get("Message-Id")]++
		}
		if waiting != 0 || dead != 0 || len(seen) != 2 || len(o.mails()) > 3 {
			t.Errorf("%d wait, %d are dead, arrived %v", waiting, dead, seen)
		}
	})
}
