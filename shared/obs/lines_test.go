package obs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/shared/obs"
)

// sink is a destination that may be looked at meanwhile.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestLinesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		lines := obs.NewLines(&out)
		log, err := lines.Logger("info", "json")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- lines.Run(ctx) }()
		synctest.Wait()
		log.Info("first")
		log.With(slog.Int("n", 1)).Info("second")
		if out.String() != "" {
			t.Error("a line did not wait for the others")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 2 {
			t.Errorf("%d lines after the interval: %s", n, out.String())
		}
		log.Info("third")
		log.WithGroup("g").Warn("urgent")
		if n := strings.Count(out.String(), "\n"); n != 4 {
			t.Errorf("%d lines after a warning: %s", n, out.String())
		}
		log.Info("last")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "last") {
			t.Error("what was gathered at the end is lost")
		}
	})
}
