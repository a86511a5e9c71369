package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/dataplane/internal/meter"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/replay"
	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/dataplane/internal/upstream"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/run"
	"modelgate.internal/shared/wire"
)

// partTime is how long a part may take to stop, unless it says otherwise.
const partTime = 10 * time.Second

// errDraining is why a node that stops is not ready.
var errDraining = errors.New("draining")

// serve is the node.
func serve(ctx context.Context, cfg *Config) error {
	lines := obs.NewLines(os.Stderr)
	defer lines.Flush() //nolint:errcheck // nowhere to report it
	log, err := lines.Logger(cfg.LogLevel, cfg.LogFormat)
	if err != nil {
		return err
	}
	calls, err := lines.Canon(cfg.LogLevel, cfg.LogFormat, "request")
	if err != nil {
		return err
	}
	n := &node{cfg: cfg, log: log, calls: calls, reg: obs.Registry("dataplane")}
	if err := cfg.usageSync(); err != nil {
		return err
	}
	if err := prepare(cfg); err != nil {
		return err
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	if err := n.connect(); err != nil {
		return err
	}
	g := run.NewGroup(ctx, log)
	part(g, "log", lines.Run)
	n.start(g)
	log.Info("node serves", slog.String("name", cfg.Name), slog.String("gateway", n.sockets.gateway.Addr().String()),
		slog.String("darwin", n.sockets.darwin.Addr().String()), slog.String("metrics", n.sockets.metrics.Addr().String()),
		slog.Uint64("config_version", uint64(n.source.Current().Version)), slog.String("version", obs.Version()))
	return g.Wait()
}

// node is what the process is made of.
type node struct {
	cfg   *Config
	log   *slog.Logger
	calls *obs.Canon
	reg   *prometheus.Registry

	link        *snapshot.Link
	sockets     sockets
	certificate *listener.Certificate // nil without TLS
	quota       *quota.Node
	limiter     *limit.Limiter
	usage       *spool.Spool
	source      *snapshot.Source
	keys        *auth.Auth
	upstreams   *upstream.Set
	pools       *pool.Set
	claims      *replay.Keeper
	watch       *listener.Watch
	servers     []*listener.Server
	draining    atomic.Bool
}

// open takes hold of what the node has: its sockets and its state on disk.
func (n *node) open(ctx context.Context) (err error) {
	// The sockets first: a taken port is found before anything else happens, and clients that connect meanwhile wait in the
	// kernel's queue.
	if n.sockets, err = openSockets(ctx, n.cfg); err != nil {
		return err
	}
	if n.certificate, err = openCertificate(n.cfg); err != nil {
		return err
	}
	// The link to the control plane is only made here, not used; nothing below waits for it.
	if n.link, err = newLink(n.cfg, n.log); err != nil {
		return err
	}
	// The rate-limit ledger before callers: what is admitted must be counted on top of what was.
	if err = n.openQuota(ctx, daysOf(n.link)); err != nil {
		return err
	}
	// The usage log before anything that would have to be counted.
	if n.usage, err = spool.Open(spool.Options{
		DataDir: n.cfg.DataDir, Sync: n.cfg.UsageSync, Uploader: n.link, Now: time.Now, Log: n.log,
	}); err != nil {
		return err
	}
	// The configuration as the disk has it. With that the node can serve at once, control plane or not.
	n.source, err = snapshot.Open(snapshot.Options{DataDir: n.cfg.DataDir, Build: obs.Version(), Link: n.link, Now: time.Now, Log: n.log})
	if err != nil {
		return err
	}
	// Keys before the change stream runs: a revocation must find the cache that it has to clear.
	if n.keys, err = auth.New(auth.Options{
		Index: n.source, Cells: n.limiter.Cells, StreamKeys: n.source.StreamKeys, Now: time.Now,
	}); err != nil {
		return err
	}
	n.source.Watch(n.keys.KeyChanged, n.keys.AllChanged)
	return nil
}

// connect puts the way of a request together: socket, gateway, handlers, upstreams.
func (n *node) connect() error {
	n.upstreams = newUpstreams(n.cfg, n.reg, n.log)
	n.pools = pool.NewSet(pool.Options{
		Upstream: func(id string) (upstream.Upstream, error) { return n.upstreams.Get(n.source.Current(), id) },
		Probe:    newProbe(n.cfg), Observer: observePools(n.reg), Log: n.log,
	})
	n.source.WatchCatalog(n.pools.Update)
	handlers := api.New(api.Options{
		Pool: n.pool, Members: n.pools.Members, Service: func(id string) (*upstream.Service, error) { return n.upstreams.Service(n.source.Current(), id) },
		Scene: n.source.Scene,
		Fresh: func() wire.ConfigHealth { return fresh(n.source) }, Draining: n.draining.Load,
		KeepAlive: n.cfg.KeepAlive, Node: n.cfg.Name, Version: obs.Version(), Now: time.Now,
	})
	operations, err := contract.Operations()
	if err != nil {
		return err
	}
	n.claims = replay.New(replay.Options{Send: n.link.Ask, Log: n.log})
	counted := meter.New(n.usage)
	g, err := gateway.New(gateway.Options{
		Authenticate: n.keys.Authenticate, Admit: n.limiter.Admit, AdmitPeer: admitPeers(n.cfg), Peek: n.limiter.Peek,
		Record: counted.Record, Journal: counted, CanRecord: n.usage.Ready,
		Current: n.source.Current, Operations: operations, Routes: gateway.Routes(handlers),
		Claim: n.claims.Claim, KeepAlive: n.cfg.KeepAlive,
		GatewayURL: n.cfg.GatewayURL, DarwinURL: n.cfg.DarwinURL, CallTimeMax: n.cfg.CallTime, Compress: n.cfg.Compress,
		Metrics: gateway.NewMetrics(n.reg), Calls: n.calls, Log: n.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	if n.watch, err = listener.NewWatch(); err != nil {
		return err
	}
	registerState(n.reg, n.source, n.usage, n.watch)
	if n.certificate != nil {
		registerCertificate(n.reg, n.certificate)
	}
	n.servers, err = newServers(n.cfg, n.sockets, n.certificate, n.watch, g, n.reg, n.log)
	return err
}

// start runs the parts. They stop in the reverse order.
func (n *node) start(g *run.Group) {
	// Metrics and probes come first and go last, so that a start and a drain can be watched.
	serveMetrics(g, n.sockets.metrics, obs.Handler(n.reg, n.ready))

	// State that calls write to outlives them: limits, then the usage log, which ships once more when no call is left. Keys are
	// looked up in the configuration's index, so that one stays open as long.
	part(g, "limits", n.quota.Run)
	part(g, "usage", func(ctx context.Context) error { return errors.Join(n.usage.Run(ctx), n.usage.Close()) })
	part(g, "config", n.source.Run)
	g.OnStop("keys", partTime, func(context.Context) error { n.keys.Close(); return nil })
	g.OnStop("upstreams", partTime, func(context.Context) error { n.upstreams.Close(); return nil })

	part(g, "claims", n.claims.Run)
	part(g, "health checks", n.pools.Run)

	// The watch before the hosts: a client that leaves is noticed from the first call to the last.
	part(g, "watch", n.watch.Run)

	if n.certificate != nil {
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGHUP)
		part(g, "certificate", func(ctx context.Context) error {
			defer signal.Stop(again)
			return n.certificate.Run(ctx, again, n.log)
		})
	}

	// Callers last: they find everything else in place.
	for _, s := range n.servers {
		g.Go("host "+s.Address().String(), func(context.Context) error { return s.Serve() })
	}

	// They stop first: readiness off, a wait for load balancers to notice, sockets closed, calls finished or ended.
	g.OnStop("hosts", n.cfg.DrainTime+2*partTime, func(ctx context.Context) error {
		return listener.Drain(ctx, n.watch, n.cfg.DrainTime, n.log, n.servers...)
	})
	g.OnStop("readiness", n.cfg.DrainWait+partTime, func(context.Context) error {
		n.draining.Store(true)
		time.Sleep(n.cfg.DrainWait)
		return nil
	})
}

// pool is api.Options.Pool: a nil *pool.Pool must not become a Pool.
func (n *node) pool(id string) (api.Pool, bool) {
	p, ok := n.pools.Get(id)
	return p, ok
}

// errNoPublicTranslate is the answer of a node whose operator offers nothing without a key.
var errNoPublicTranslate = apierr.New(apierr.Unavailable,
	"Translation without a key is turned off here. Use POST /api/v1/translate with a key; the setting is public_translate.")

// admitPeers limits what needs no key.
func admitPeers(cfg *Config) func(netip.Addr, time.Time) error {
	if cfg.PublicTranslate <= 0 {
		return func(netip.Addr, time.Time) error { return errNoPublicTranslate }
	}
	return limit.NewPeers(cfg.PublicTranslate, cfg.PublicTranslateAll).Admit
}

// ready returns why the node should get no calls, or nil.
func (n *node) ready() error {
	if n.draining.Load() {
		return errDraining
	}
	return errors.Join(n.source.Ready(), n.usage.Ready(), n.quota.Ready())
}

// prepare sets up what the process has one of.
func prepare(cfg *Config) error {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if cfg.GOMEMLIMIT != "" {
		limit, err := bytesOf("gomemlimit", cfg.GOMEMLIMIT)
		if err != nil {
			return err
		}
		debug.SetMemoryLimit(limit)
	}
	return nil
}

// gcPercent lets garbage grow to a multiple of the heap, which is small: it holds what calls are working with. The memory
// limit bounds it where memory is short.
const gcPercent = 400

func newLink(cfg *Config, log *slog.Logger) (*snapshot.Link, error) {
	token := ""
	if cfg.JoinToken.IsSet() {
		var err error
		if token, err = cfg.JoinToken.Value(); err != nil {
			return nil, fmt.Errorf("join_token: %w", err)
		}
	}
	transport, _ := http.DefaultTransport.(*http.Transport)
	return snapshot.NewLink(snapshot.LinkOptions{
		BaseURL: cfg.ControlURL, JoinToken: token, Name: cfg.Name, Build: obs.Version(), DataDir: cfg.DataDir,
		Client: &http.Client{Transport: transport.Clone()}, Log: log,
	})
}

// part runs f until the group comes to stopping it, which is after every part that was started later has stopped.
func part(g *run.Group, name string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(g.Context()))
	done := make(chan struct{})
	g.Go(name, func(context.Context) error {
		defer close(done)
		return f(ctx)
	})
	g.OnStop(name, partTime, func(stop context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-stop.Done():
			return stop.Err()
		}
	})
}

func serveMetrics(g *run.Group, socket net.Listener, handler http.Handler) {
	const headTime, idleTime = 10 * time.Second, 2 * time.Minute // idle as well is a connection that sent three bytes of a head
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headTime, IdleTimeout: idleTime}
	g.Go("metrics", func(context.Context) error {
		if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.OnStop("metrics", partTime, func(context.Context) error { return server.Close() })
}

func fresh(source *snapshot.Source) wire.ConfigHealth {
	f := source.Freshness()
	return wire.ConfigHealth{
		Epoch: f.Cursor.Epoch, Version: uint64(f.Cursor.Version), AgeSeconds: f.Age.Seconds(), Connected: f.Connected,
	}
}

func newUpstreams(cfg *Config, reg registerer, log *slog.Logger) *upstream.Set {
	observer := observeUpstreams(reg)
	observer.Panicked = func(value any, stack []byte) {
		log.Error("connection to an upstream panicked", slog.Any("panic", value), slog.String("stack", string(stack)))
	}
	return upstream.NewSet(upstream.Options{
		Timeouts: upstream.Timeouts{
			Connect: cfg.ConnectTime, Head: cfg.HeadTime, First: cfg.FirstTime, Idle: cfg.IdleTime,
			Answer: cfg.AnswerTime, Total: cfg.CallTime,
		},
		KeepAlive: cfg.KeepAlive, Observer: observer, Now: time.Now, Connections: cfg.UpstreamConnsMax,
	}, cfg.credential)
}

// newProbe asks servers whether they are well. A credential that cannot be read is found by the first call.
func newProbe(cfg *Config) func(context.Context, plane.UpstreamSpec, string) error {
	transport, _ := http.DefaultTransport.(*http.Transport)
	return pool.HTTPProbe(transport.Clone(), func(name string) string {
		secret, err := cfg.credential(name)
		if err != nil {
			return ""
		}
		return secret
	})
}
