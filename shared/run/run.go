package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// doubledSignal is how long after the first signal another one is still taken for the same: timeout(1) and terminals signal
// a process and then its group.
const doubledSignal = time.Second

// Main runs f until it returns and gives the exit code of the process: 0, or 1 after printing the error to errOut. The
// context given to f ends with the first SIGINT or SIGTERM; one that comes more than a second later ends the process at
// once, with code 130.
func Main(errOut io.Writer, name string, f func(ctx context.Context) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel()
		for first := time.Now(); time.Since(first) < doubledSignal; {
			<-signals
		}
		os.Exit(130)
	}()
	if err := f(ctx); err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// Group runs the parts of a process.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	log    *slog.Logger
	wg     sync.WaitGroup
	stops  []stop
}

type stop struct {
	name  string
	limit time.Duration
	f     func(ctx context.Context) error
}

// errStopped is the cause of a Group's context when it was asked to stop rather than failed.
var errStopped = errors.New("stopped")

// NewGroup returns a Group whose parts are asked to stop when ctx ends.
func NewGroup(ctx context.Context, log *slog.Logger) *Group {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { cancel(errStopped) })
	return &Group{ctx: inner, cancel: cancel, log: log}
}

// Context ends when the Group is asked to stop or a part failed.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f as a part. Its context ends when the Group stops; an error other than the context's stops the Group.
func (g *Group) Go(name string, f func(ctx context.Context) error) {
	g.wg.Go(func() {
		err := f(g.ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			g.cancel(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// OnStop registers f to run when the Group stops: last registered, first run, one after the other, each with its own time
// limit. A part that serves (and returns only when told to) is stopped this way.
func (g *Group) OnStop(name string, limit time.Duration, f func(ctx context.Context) error) {
	g.stops = append(g.stops, stop{name, limit, f})
}

// Wait returns after the Group was asked to stop or a part failed, every stop function ran and every part returned. Its
// error is that of the first part that failed, or of a stop function.
func (g *Group) Wait() error {
	<-g.ctx.Done()
	cause := context.Cause(g.ctx)
	if errors.Is(cause, errStopped) {
		cause = nil
	}
	for _, s := range slices.Backward(g.stops) {
		g.log.Info("stopping", slog.String("part", s.name))
		ctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), s.limit)
		err := s.f(ctx)
		cancel()
		if err != nil {
			g.log.Error("stop failed", slog.String("part", s.name), slog.Any("err", err))
			if cause == nil {
				cause = fmt.Errorf("stop %s: %w", s.name, err)
			}
		}
	}
	g.wg.Wait()
	return cause
}
