package snapshot

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/shared/plane"
)

// Silence is what is not received while the node listens, however long the node works in between.
func TestTheNodesOwnWorkIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		silence := time.AfterFunc(plane.StreamSilenceMax, func() { cancel(errSilent) })
		defer silence.Stop()
		r, w := io.Pipe()
		defer context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })()
		go func() {
			for range 3 {
				_, _ = w.Write([]byte("a line"))
			}
		}()
		from, line := &heard{r, silence}, make([]byte, 6)
		for range 3 {
			if _, err := from.Read(line); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * plane.StreamSilenceMax) // a slow disk
		}
		if err := context.Cause(ctx); err != nil {
			t.Fatalf("ended by the node's own work: %v", err)
		}
		began := time.Now()
		_, err := from.Read(line)
		if waited := time.Since(began); err == nil || !errors.Is(context.Cause(ctx), errSilent) || waited != plane.StreamSilenceMax {
			t.Errorf("silence ended the stream after %s: %v, %v", waited, err, context.Cause(ctx))
		}
	})
}
