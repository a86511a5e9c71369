package publish_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/shared/plane"
)

// quiet is a log without any change, whose database can be away.
type quiet struct {
	publish.Log
	away  atomic.Bool
	epoch atomic.Uint64
}

func (q *quiet) Cursor(context.Context) (plane.Cursor, error) {
	if q.away.Load() {
		return plane.Cursor{}, errors.New("the database is away")
	}
	return plane.Cursor{Epoch: q.epoch.Load()}, nil
}

func (q *quiet) Changed() <-chan struct{} { return nil }

func (q *quiet) RecordsAfter(context.Context, publish.RecordID, int) ([]plane.Change, error) {
	return nil, nil
}

// A ping says that there is nothing new, so there is none while the database cannot be asked.
func TestNoPingsWithoutTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &quiet{}
		ctx, cancel := context.WithCancel(t.Context())
		p := newPublisher(log)
		go func() { _ = p.Run(ctx) }()
		var pings atomic.Int64
		ended := make(chan error, 1)
		go func() {
			ended <- newNode("n").follow(ctx, p, func(m plane.Message) error {
				if m.Ping {
					pings.Add(1)
				}
				return nil
			})
		}()
		during := func(d time.Duration) int64 {
			before := pings.Load()
			time.Sleep(d)
			synctest.Wait()
			return pings.Load() - before
		}
		if n := during(21 * time.Second); n != 10 {
			t.Errorf("%d pings in 21 s", n)
		}
		log.away.Store(true)
		time.Sleep(publish.FreshFor + time.Second)
		if n := during(60 * time.Second); n != 0 {
			t.Errorf("%d pings while the database was away", n)
		}
		log.away.Store(false)
		time.Sleep(2 * publish.PollRetryMax)
		if n := during(20 * time.Second); n < 10 || n > 11 {
			t.Errorf("%d pings in 20 s after it came back", n)
		}
		log.epoch.Store(7) // another database
		if err := <-ended; !errors.Is(err, publish.ErrHistory) {
			t.Errorf("ended with %v", err)
		}
		cancel()
		synctest.Wait()
	})
}
