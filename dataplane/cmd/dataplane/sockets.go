package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/listener"
)

// sockets are what the process listens on.
type sockets struct{ gateway, darwin, metrics net.Listener }

// openSockets opens or inherits the sockets.
func openSockets(ctx context.Context, cfg *Config) (s sockets, err error) {
	inherited, err := listener.Inherited(os.LookupEnv, "gateway", "darwin", "metrics")
	if err != nil {
		return s, err
	}
	for _, open := range []struct {
		socket        *net.Listener
		name, address string
	}{{&s.gateway, "gateway", cfg.Listen}, {&s.darwin, "darwin", cfg.DarwinListen}, {&s.metrics, "metrics", cfg.MetricsListen}} {
		if *open.socket, err = inherited.Listen(ctx, open.name, open.address); err != nil {
			return s, err
		}
	}
	return s, nil
}

// newServers makes the two hosts. They share the bound of connections and the memory for bodies.
func newServers(cfg *Config, s sockets, watch *listener.Watch, g *gateway.Gateway, reg registerer, log *slog.Logger) ([]*listener.Server, error) {
	room, err := bytesOf("body_memory", cfg.BodyMemory)
	if err != nil {
		return nil, err
	}
	if cfg.ConnsMax < 1 {
		return nil, fmt.Errorf("conns_max: %d is not positive", cfg.ConnsMax)
	}
	budget := listener.NewBudget(room)
	registerBudget(reg, budget)
	host := func(name string, socket net.Listener, host gateway.Host) *listener.Server {
		return listener.New(listener.Options{
			Name: name, Socket: socket, Watch: watch, Budget: budget, ConnsMax: cfg.ConnsMax,
			Handler: g.Handler(host), Refuse: g.Refuse, BodyMax: g.BodyMax, Log: log,
		})
	}
	return []*listener.Server{host("gateway", s.gateway, gateway.MainHost), host("darwin", s.darwin, gateway.DarwinHost)}, nil
}
