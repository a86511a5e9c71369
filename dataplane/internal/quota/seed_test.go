package quota_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// The count of the day outlives the ledger: a new one, and one that was recovered, goes on from what the control plane counted, and
// admits nothing before it knows.
func TestTheCountOfTheDayOutlivesTheLedger(t *testing.T) {
	const limit = 100
	const account = "0198c0de-0000-7000-8000-000000000003"
	id := ledger.ID{Kind: ledger.AccountDay, Hi: 0x0198c0de00007000, Lo: 0x8000000000000003}
	var counted atomic.Int64 // by the control plane; negative if it is away
	counted.Store(-1)
	m := found(t, true)
	m.stop()
	m.days = func(_ context.Context, accounts []string, day time.Time) (map[string]int64, error) {
		n := counted.Load()
		if n < 0 {
			return nil, errors.New("away")
		}
		if day != time.Now().UTC().Truncate(24*time.Hour) || accounts[0] != account {
			t.Errorf("asked for %v on %s", accounts, day)
		}
		return map[string]int64{account: n}, nil
	}
	spend := func() (n int) {
		t.Helper()
		c := client.NewCell(id, ledger.Literal(limit), 1)
		for {
			err := m.admit(c)
			var limited *client.LimitedError
			if errors.As(err, &limited) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	m.start()
	m.ready()
	if err := m.admit(client.NewCell(id, ledger.Literal(limit), 1)); !errors.Is(err, client.ErrUnavailable) {
		t.Fatalf("admitted without a count: %v", err)
	}
	counted.Store(70)
	if n := spend(); n != 30 {
		t.Errorf("%d admitted of the 30 that were left", n)
	}
	m.stop()
	m.start()
	m.ready()
	if n := spend(); n != 0 {
		t.Errorf("%d admitted after a restart", n)
	}
	m.stop()
	if _, err := quota.Recover(t.Context(), m.dir, true); err != nil {
		t.Fatal(err)
	}
	counted.Store(-1)
	m.start()
	m.ready()
	if err := m.admit(client.NewCell(id, ledger.Literal(2*limit), 2)); !errors.Is(err, client.ErrUnavailable) {
		t.Fatalf("admitted after a recovery without a count: %v", err)
	}
}
