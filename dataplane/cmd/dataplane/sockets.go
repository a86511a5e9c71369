package main

import (
	"context"
	"errors"
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

// openCertificate reads the certificate of both hosts, nil if they do not speak TLS.
func openCertificate(cfg *Config) (*listener.Certificate, error) {
	switch {
	case cfg.TLSCertFile == "" && cfg.TLSKeyFile == "":
		return nil, nil
	case cfg.TLSCertFile == "" || cfg.TLSKeyFile == "":
		return nil, errors.New("tls_cert_file, tls_key_file: set both or none")
	}
	c, err := listener.OpenCertificate(cfg.TLSCertFile, cfg.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls_cert_file, tls_key_file: %w", err)
	}
	return c, nil
}

// newServers makes the two hosts. They share the bound of connections and the memory for bodies.
func newServers(
	cfg *Config, s sockets, certificate *listener.Certificate, watch *listener.Watch, g *gateway.Gateway, reg registerer, log *slog.Logger,
) ([]*listener.Server, error) {
	room, err := cfg.bodyMemory()
	if err != nil {
		return nil, err
	}
	if err := cfg.times(); err != nil {
		return nil, err
	}
	if cfg.ConnsMax < 1 {
		return nil, fmt.Errorf("conns_max: %d is not positive", cfg.ConnsMax)
	}
	budget := listener.NewBudget(room)
	registerBudget(reg, budget)
	host := func(name string, socket net.Listener, host gateway.Host) *listener.Server {
		return listener.New(listener.Options{
			Name: name, Socket: socket, Watch: watch, Budget: budget, ConnsMax: cfg.ConnsMax, Certificate: certificate,
			Handler: g.Handler(host), Refuse: g.Refuse, BodyMax: g.BodyMax, UploadMax: g.UploadMax,
			UploadTime: cfg.UploadTime, WriteTime: cfg.WriteTime, Log: log,
		})
	}
	return []*listener.Server{host("gateway", s.gateway, gateway.MainHost), host("darwin", s.darwin, gateway.DarwinHost)}, nil
}
