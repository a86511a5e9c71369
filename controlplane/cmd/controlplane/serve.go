package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/api"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/nodeapi"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/server"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/web"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/run"
)

// Bounds of the process.
const (
	startPause        = time.Second      // between attempts to reach the database at the start
	internalHeader    = 5 * time.Second  // for a node to send the head of a request
	internalIdle      = 2 * time.Minute  // of a node's connection between requests
	internalShutdown  = 10 * time.Second // for uploads in progress when the process stops
	metricsShutdown   = time.Second
	readyDeadline     = 3 * time.Second // for the database to answer a readiness probe
	internalHeaderMax = 16 << 10        // bytes
)

// serve runs the control plane until ctx ends. While the database is away or not migrated at the start it waits, alive but
// not ready.
func (e *env) serve(ctx context.Context) error {
	_, _, offerErr := e.cfg.offer()
	if err := errors.Join(e.cfg.checkURLs(), e.cfg.checkCatalog(), offerErr); err != nil {
		return err
	}
	keys, err := e.cfg.readSecrets()
	if err != nil {
		return err
	}
	//nolint:contextcheck // the group's context takes over: it ends with ctx, and with a part that fails
	return e.serveIn(run.NewGroup(ctx, e.log), keys)
}

// serveIn starts everything in the group and waits for its end.
func (e *env) serveIn(g *run.Group, keys secrets) error {
	var current atomic.Pointer[store.Store]
	reg := obs.Registry("controlplane")
	metrics := &http.Server{
		Handler:           obs.Handler(reg, func() error { return ready(g.Context(), current.Load()) }),
		ReadHeaderTimeout: internalHeader, IdleTimeout: internalIdle, MaxHeaderBytes: internalHeaderMax,
	}
	if err := e.listen(g, "metrics", e.cfg.MetricsListen, metrics, metricsShutdown); err != nil {
		return err
	}
	s, err := e.await(g.Context())
	if err == nil && s != nil {
		defer s.Close()
		if err = e.start(g, s, keys, reg); err == nil {
			current.Store(s) // only now: who is told that we are ready calls the portal's address next
		}
	}
	if err != nil {
		g.Go("start", func(context.Context) error { return err })
	}
	return g.Wait()
}

// ready is the readiness of the process, which has a store once every listener is open.
func ready(ctx context.Context, s *store.Store) error {
	if s == nil {
		return errors.New("still starting: the database has not been reached yet, or is not migrated, or the listeners are not open")
	}
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	return s.Ready(ctx)
}

// await opens the database, as soon as it answers and is migrated. It returns nil when ctx ends before.
func (e *env) await(ctx context.Context) (*store.Store, error) {
	if _, err := value("database_url", e.cfg.DatabaseURL); err != nil {
		return nil, err
	}
	said := ""
	for {
		s, err := e.open(ctx)
		if err == nil {
			return s, nil
		}
		if text := err.Error(); text != said && ctx.Err() == nil {
			said = text
			e.log.Warn("waiting for the database", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return nil, nil //nolint:nilnil // asked to stop before there was a store, which is no failure
		case <-time.After(startPause):
		}
	}
}

// start puts the parts together, in the order of who needs whom.
func (e *env) start(g *run.Group, s *store.Store, keys secrets, reg *prometheus.Registry) error {
	publisher := publish.New(s, publish.Options{KeyPeppers: keys.peppers, StreamKeys: keys.streams.Public(), Log: e.log, Now: time.Now})
	version, err := publisher.Catalog(g.Context(), e.cfg.catalog())
	if err != nil {
		return err
	}
	if err := registerGauges(reg, s, publisher); err != nil {
		return err
	}
	g.Go("publisher", publisher.Run)
	g.Go("config history", publisher.Keep)
	g.Go("housekeeping", s.Housekeep)
	g.Go("account removal", (&account.Remover{Store: s, Log: e.log, Now: time.Now}).Run)
	closer, err := ledger.NewCloser(s, e.log, time.Now, reg)
	if err != nil {
		return err
	}
	g.Go("usage closing", closer.Run)
	nodes, err := node.NewRegistry(s, keys.joinToken, e.log)
	if err != nil {
		return err
	}
	if err := e.startInternal(g, s, keys, publisher, nodes, reg); err != nil {
		return err
	}
	mailer, err := e.startMail(g, s, keys, reg)
	if err != nil {
		return err
	}
	alerts := e.startAlerts(g, s, keys, mailer)
	b, err := e.startBilling(g, s, keys, reg)
	if err != nil {
		return err
	}
	if err := e.startPublic(g, s, keys, mailer, b, alerts, nodes, reg); err != nil {
		return err
	}
	e.log.Info("serving", slog.String("portal", e.cfg.Listen), slog.String("internal", e.cfg.InternalListen),
		slog.String("metrics", e.cfg.MetricsListen), slog.Uint64("config_version", uint64(version)), slog.String("build", obs.Version()))
	return nil
}

// startInternal serves the gateway nodes.
func (e *env) startInternal(g *run.Group, s *store.Store, keys secrets, publisher *publish.Publisher, nodes *node.Registry, reg *prometheus.Registry) error {
	receiver, err := ingest.NewReceiver(s, e.log, reg)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler: nodeapi.Handler(nodeapi.Options{
			Nodes: nodes, Publisher: publisher, Receiver: receiver, Days: s,
			Replays: &replay.Replays{Store: s, Vault: keys.vault, Now: time.Now}, Log: e.log, Now: time.Now,
		}),
		ReadHeaderTimeout: internalHeader, IdleTimeout: internalIdle, MaxHeaderBytes: internalHeaderMax,
		ErrorLog: slog.NewLogLogger(e.log.Handler(), slog.LevelDebug),
	}
	return e.listen(g, "internal", e.cfg.InternalListen, srv, internalShutdown)
}

// startMail sends what is in the outbox, if there is a server to send through.
func (e *env) startMail(g *run.Group, s *store.Store, keys secrets, reg prometheus.Registerer) (*mail.Mailer, error) {
	mailer, err := mail.New(keys.mail, keys.vault, time.Now)
	if err != nil {
		return nil, err
	}
	outbox, err := mail.NewOutbox(mailer, s, e.log, reg)
	if err != nil {
		return nil, err
	}
	if mailer.Configured() {
		g.Go("mail", outbox.Run)
	} else {
		e.log.Warn("mail is not configured: set mail_smtp_url and mail_from, so that developers can confirm addresses and reset passwords")
	}
	return mailer, nil
}

// startBilling applies what Stripe says, if there is a key for it.
func (e *env) startBilling(g *run.Group, s *store.Store, keys secrets, reg prometheus.Registerer) (*billing.Billing, error) {
	b, err := billing.New(s, keys.stripe, strings.TrimSuffix(e.cfg.PublicURL, "/"), e.log, time.Now, reg)
	if err != nil {
		return nil, err
	}
	switch b.Mode() {
	case billing.ModeOff:
		e.log.Warn("billing is not configured: set stripe_secret_key and stripe_webhook_secret, so that developers can buy plans")
		return b, nil
	case billing.ModeSimulated:
		e.log.Warn("billing is simulated, nobody pays", slog.String("stripe_api_url", e.cfg.StripeAPIURL))
	default:
	}
	g.Go("billing", b.Run)
	g.Go("billing endpoint", func(ctx context.Context) error {
		if b.Mode() == billing.ModeSimulated { // it forgets with its end
			if err := b.Setup(ctx, func(string) {}); err != nil {
				e.log.Error("the prices are not set up", slog.Any("err", err))
			}
		}
		if err := b.CheckWebhook(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("the webhook endpoint at Stripe is not as it should be", slog.Any("err", err))
		}
		<-ctx.Done()
		return ctx.Err()
	})
	return b, nil
}

// startAlerts tells accounts how much of their day quota is used.
func (e *env) startAlerts(g *run.Group, s *store.Store, keys secrets, mailer *mail.Mailer) *alert.Alerts {
	alerts := &alert.Alerts{
		Store: s, Vault: keys.vault, Mailer: mailer, PublicURL: strings.TrimSuffix(e.cfg.PublicURL, "/"), Log: e.log, Now: time.Now,
	}
	g.Go("usage alerts", alerts.Watch)
	g.Go("usage webhooks", alerts.Deliver)
	return alerts
}

// startPublic serves developers.
func (e *env) startPublic(g *run.Group, s *store.Store, keys secrets, mailer *mail.Mailer, b *billing.Billing, alerts *alert.Alerts, nodes *node.Registry, reg *prometheus.Registry) error {
	passwords, err := account.NewPasswords(account.DefaultCost())
	if err != nil {
		return err
	}
	made, images, err := e.cfg.offer()
	if err != nil {
		return err
	}
	portal, built := web.Portal()
	if !built {
		e.log.Warn("this build has no portal bundle, a page that says so is served in its place")
	}
	apps := &app.Apps{Store: s, Vault: keys.vault, Pepper: keys.peppers[0], Streams: keys.streams, Now: time.Now}
	handlers, err := api.New(api.Config{
		Accounts: &account.Accounts{
			Store: s, Passwords: passwords, Signer: keys.signer, Throttle: account.NewThrottle(time.Now),
			Google: google.New(google.Config{
				ClientID: e.cfg.GoogleClientID, Issuer: e.cfg.GoogleIssuer, JWKSURL: e.cfg.GoogleJWKSURL,
				Client: &http.Client{Timeout: google.FetchTimeout}, Now: time.Now,
			}),
			Vault: keys.vault, Mailer: mailer, PublicURL: strings.TrimSuffix(e.cfg.PublicURL, "/"), Log: e.log, Now: time.Now,
		},
		Apps:  apps,
		Orgs:  &org.Orgs{Store: s, Mailer: mailer, PublicURL: strings.TrimSuffix(e.cfg.PublicURL, "/"), Now: time.Now},
		Audit: &audit.Log{Store: s},
		Usage: &ledger.Ledger{Store: s},
		Nodes: nodes, Playground: playground.New(apps, s, e.cfg.playgroundURL(), time.Now),
		Exports: s, ExportPace: counter.NewPace(time.Now, "exports", counter.Developer, api.ExportsPerMinute, api.ExportsBurst),
		Catalog: made, Images: images,
		Mailer:        mailer,
		Billing:       b,
		Alerts:        alerts,
		Counters:      &counter.Counters{Store: s, Admin: e.cfg.MetricsAdmin, Now: time.Now},
		CounterReads:  counter.NewPace(time.Now, "requests", counter.Network, counter.ReadsPerMinute, counter.ReadsBurst),
		CounterWrites: counter.NewPace(time.Now, "requests", counter.Network, counter.WritesPerMinute, counter.WritesBurst),
		Streams:       keys.streams,
		StreamPace:    counter.NewPace(time.Now, "stream tokens", counter.Developer, api.StreamKeysPerMinute, api.StreamKeysBurst),
		Searches:      counter.NewPace(time.Now, "searches", counter.Network, org.SearchesPerMinute, org.SearchesBurst),
		Looks:         counter.NewPace(time.Now, "looks at invites", counter.Network, org.LooksPerMinute, org.LooksBurst),
		Mails:         counter.NewPace(time.Now, "mails", counter.Network, org.MailsPerMinute, org.MailsBurst),
		Portal:        portal, PublicURL: e.cfg.PublicURL, GatewayURL: e.cfg.GatewayURL, DarwinURL: e.cfg.DarwinURL, Now: time.Now,
	})
	if err != nil {
		return err
	}
	counts, err := newHTTPMetrics(reg)
	if err != nil {
		return err
	}
	h := server.New(handlers, server.Options{
		Log: e.log, Observe: counts.observe, PublicURL: e.cfg.PublicURL, GatewayURL: e.cfg.GatewayURL, Now: time.Now,
	})
	return e.listen(g, "portal", e.cfg.Listen, server.HTTP(h, e.log), server.ShutdownTimeout)
}

// listen serves on an address until the group stops.
func (e *env) listen(g *run.Group, name, address string, srv *http.Server, limit time.Duration) error {
	l, err := (&net.ListenConfig{}).Listen(g.Context(), "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", name, err)
	}
	g.Go(name, func(context.Context) error {
		if err := srv.Serve(server.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.OnStop(name, limit, srv.Shutdown)
	return nil
}
