package listener

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// shutdown closes the socket and returns when no request is left. A server that has not come to Serve yet is not known to be
// running, so the socket is closed here too, and Serve returns at once.
func (s *Server) shutdown(ctx context.Context) error {
	s.stopping.Store(true)
	err := errors.Join(s.http.ShutdownWithContext(ctx), s.ln.Close())
	s.apart.Wait()
	return err
}

// Drain stops servers that share a watch: their sockets are closed, calls have the given time to finish, those that have not
// finished are told to end and get a little more time to say so to their clients, and then every connection is closed.
// Readiness must have been off for long enough that no load balancer sends anything new. The error says how many calls were
// cut without a word.
func Drain(ctx context.Context, w *Watch, grace time.Duration, log *slog.Logger, servers ...*Server) error {
	done := make(chan error, len(servers))
	for _, s := range servers {
		go func() { done <- s.shutdown(context.WithoutCancel(ctx)) }()
	}
	left := len(servers)
	wait := func(d time.Duration) error {
		limit := time.NewTimer(d)
		defer limit.Stop()
		var failed error
		for left > 0 {
			select {
			case err := <-done:
				left--
				failed = errors.Join(failed, err)
			case <-limit.C:
				return failed
			case <-ctx.Done():
				return failed
			}
		}
		return failed
	}
	err := wait(grace)
	if left == 0 {
		return err
	}
	log.Warn("drain time is over, ending the calls that are left", slog.Int("connections", w.Open()))
	w.endAll()
	err = errors.Join(err, wait(endTime))
	if left == 0 {
		return err
	}
	log.Error("connections are cut", slog.Int("connections", w.Open()))
	w.closeAll()
	return errors.Join(err, wait(time.Second))
}
