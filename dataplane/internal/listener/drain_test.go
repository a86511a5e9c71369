package listener_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/listener"
)

// A node may be told to stop before its servers came to serve.
func TestAServerThatWasDrainedBeforeItServedReturns(t *testing.T) {
	var config net.ListenConfig
	socket, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	watch, err := listener.NewWatch()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- watch.Run(ctx) }()
	defer func() { cancel(); <-watched }()
	s := listener.New(listener.Options{
		Name: "test", Socket: socket, Watch: watch, Budget: listener.NewBudget(1 << 20), ConnsMax: 1, Log: slog.New(slog.DiscardHandler),
	})
	if err := listener.Drain(t.Context(), watch, time.Second, slog.New(slog.DiscardHandler), s); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hang):
		t.Fatal("it serves after it was drained")
	}
}
