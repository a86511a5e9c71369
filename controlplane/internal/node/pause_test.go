package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/controlplane/internal/node"
)

// TestAnAcknowledgementEndsThePause: the next look comes with an acknowledgement, but never sooner than 4 ms after the last one,
// so that many acknowledgements are not many looks.
func TestAnAcknowledgementEndsThePause(t *testing.T) {
	const never = time.Hour
	for rings, want := range map[time.Duration]time.Duration{
		0: 4 * time.Millisecond, time.Millisecond: 4 * time.Millisecond, 10 * time.Millisecond: 10 * time.Millisecond, never: 32 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			var bell node.Bell
			rung, began := bell.Wait(), time.Now()
			time.AfterFunc(rings, bell.Ring)
			node.Pause(rung, 32*time.Millisecond)
			if took := time.Since(began); took != want {
				t.Errorf("rung after %s: paused for %s, want %s", rings, took, want)
			}
		})
	}
}
