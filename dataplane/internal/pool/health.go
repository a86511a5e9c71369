package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"modelgate.internal/shared/plane"
)

// Run asks the servers that have a health check, each at its interval, until ctx ends and the last question with it. It
// returns nil.
func (s *Set) Run(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	if s.probe == nil {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		case <-timer.C:
		}
		due, next := s.due()
		for _, m := range due {
			asking.Go(func() { s.check(ctx, m.member, m.spec, m.guard) })
		}
		timer.Reset(next)
	}
}

// question is a member to ask and what was configured for it then.
type question struct {
	member *member
	spec   plane.UpstreamSpec
	guard  guard
}

// due returns the members to ask now and the time until the next.
func (s *Set) due() (due []question, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	next = time.Minute
	for _, m := range s.members {
		if m.gone || m.guard.path == "" || m.checking {
			continue
		}
		if m.due == 0 { // not all at once
			m.due = now + time.Duration(s.rand.Int64N(int64(m.guard.interval)))
		}
		if now >= m.due {
			m.checking, m.due = true, now+m.guard.interval
			due = append(due, question{m, m.spec, m.guard})
		}
		next = min(next, m.due-now)
	}
	return due, max(next, time.Millisecond)
}

// check asks one member.
func (s *Set) check(ctx context.Context, m *member, spec plane.UpstreamSpec, g guard) {
	within, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	err := s.probe(within, spec, g.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.checking = false
	now := s.now()
	if ctx.Err() == nil && !m.gone && m.spec == spec {
		was := m.down
		m.checked(now, err == nil)
		if m.down != was {
			s.log.Warn("health of an upstream changed", slog.String("upstream", m.id), slog.Bool("well", !m.down), slog.Any("error", err))
		}
		s.show(m, now)
		m.wakePools(now)
	}
	select {
	case s.changed <- struct{}{}: // it may be due again
	default:
	}
}

// HTTPProbe returns a Probe that sends GET path to the host of the upstream's base URL. Any 2xx is well; redirects are not
// followed. The credential function turns the name in a specification into the bearer token, "" for none.
func HTTPProbe(transport http.RoundTripper, credential func(name string) string) func(context.Context, plane.UpstreamSpec, string) error {
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, spec plane.UpstreamSpec, path string) (err error) {
		base, err := url.Parse(spec.BaseURL)
		if err != nil {
			return errors.New("base_url is not a URL")
		}
		target, err := base.Parse(path)
		if err != nil || target.Host != base.Host {
			return errors.New("health.path is not a path")
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return fmt.Errorf("make health check: %w", err)
		}
		if token := credential(spec.Credential); token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("ask for health: %w", err)
		}
		defer func() { err = errors.Join(err, answer.Body.Close()) }()
		if _, err := io.CopyN(io.Discard, answer.Body, healthBodyBytesMax); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read health: %w", err)
		}
		if answer.StatusCode/100 != 2 {
			return fmt.Errorf("the health check answered %d", answer.StatusCode)
		}
		return nil
	}
}
