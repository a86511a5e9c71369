package run_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/run"
)

func TestPartsStopInReverseOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := run.NewGroup(ctx, slog.New(slog.DiscardHandler))
	var order []string
	for _, name := range []string{"database", "server", "door"} {
		g.Go(name, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		g.OnStop(name, time.Second, func(context.Context) error { order = append(order, name); return nil })
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Errorf("a stop that was asked for is no error: %v", err)
	}
	if got := strings.Join(order, " "); got != "door server database" {
		t.Errorf("stopped in order %s", got)
	}
}

func TestFailingPartStopsTheOthers(t *testing.T) {
	g := run.NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	broken := errors.New("broken")
	g.Go("good", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	g.Go("bad", func(context.Context) error { return broken })
	if err := g.Wait(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("got %v", err)
	}
}

func TestStopHasATimeLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := run.NewGroup(ctx, slog.New(slog.DiscardHandler))
	g.OnStop("stuck", 10*time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	cancel()
	if err := g.Wait(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestMainEndsWithASignal(t *testing.T) {
	var out strings.Builder
	code := run.Main(&out, "t", func(ctx context.Context) error {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return errors.New("went down badly")
	})
	if code != 1 || out.String() != "t: went down badly\n" {
		t.Errorf("code %d, output %q", code, out.String())
	}
}
