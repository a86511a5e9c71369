package limit_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/apierr"
)

func TestPeersAreLimitedEachAndTogether(t *testing.T) {
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	p := limit.NewPeers(2, 5)
	for i, tt := range []struct {
		peer  string
		after time.Duration
		wait  time.Duration // until the next is possible; 0 for an admitted call
	}{
		{"192.0.2.1", 0, 0},
		{"192.0.2.1", 10 * time.Second, 0},
		{"192.0.2.1", 20 * time.Second, 40 * time.Second},
		{"::ffff:192.0.2.1", 20 * time.Second, 40 * time.Second}, // the same
		{"2001:db8::1", 20 * time.Second, 0},
		{"2001:db8::2", 21 * time.Second, 0},
		{"2001:db8::ffff:0:0:3%eth0", 22 * time.Second, 58 * time.Second}, // of the same network
		{"2001:db8:0:1::1", 22 * time.Second, 0},
		{"192.0.2.9", 23 * time.Second, 37 * time.Second}, // five altogether
		{"192.0.2.1", 59*time.Second + 999*time.Millisecond, time.Second},
		{"192.0.2.1", 60 * time.Second, 0},
		{"192.0.2.1", 61 * time.Second, 9 * time.Second},
	} {
		err := p.Admit(netip.MustParseAddr(tt.peer), start.Add(tt.after))
		switch e := apierr.From(err); {
		case tt.wait == 0 && err != nil:
			t.Errorf("%d: %v", i, err)
		case tt.wait > 0 && (err == nil || e.Kind != apierr.Limited || e.RetryAfter != tt.wait):
			t.Errorf("%d: got %v, want a refusal for %s", i, err, tt.wait)
		}
	}
}

// TestPeersForget counts every admission of a long run: never more than allowed in any minute, and all of it again after one.
func TestPeersForget(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	p := limit.NewPeers(3, 10)
	var admitted []time.Time
	for i := range 5000 {
		now = now.Add(700 * time.Millisecond)
		if p.Admit(netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", i%50)), now) == nil {
			admitted = append(admitted, now)
		}
	}
	for i := range admitted {
		if i >= 10 && admitted[i].Sub(admitted[i-10]) < time.Minute {
			t.Fatalf("11 calls in %s", admitted[i].Sub(admitted[i-10]))
		}
	}
	if want := int(5000 * 700 * time.Millisecond / time.Minute * 10); len(admitted) < want*9/10 {
		t.Errorf("%d calls were admitted, of %d possible", len(admitted), want)
	}
}
