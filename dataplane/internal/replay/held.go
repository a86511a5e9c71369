package replay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"modelgate.internal/shared/plane"
)

// Held is the right to make a call, until it is ended.
type Held struct {
	k     *Keeper
	claim string
	stop  context.CancelFunc
	ended bool
}

// hold renews a claim until it is ended.
func (k *Keeper) hold(claim string) *Held {
	ctx, stop := context.WithCancel(context.Background())
	k.beside(func() { k.renew(ctx, claim) })
	return &Held{k: k, claim: claim, stop: stop}
}

func (k *Keeper) renew(ctx context.Context, claim string) {
	tick := time.NewTicker(plane.ReplayRenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.stopping:
			if ctx.Err() == nil { // the call was cut
				k.free(claim) //nolint:contextcheck // it is told beyond the end of the call
			}
			return
		case <-tick.C:
		}
		var there plane.ReplayHeld
		err := k.tell(ctx, plane.ReplayRenewPath, plane.ReplayRenewal{ClaimID: claim}, &there)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.o.Log.Warn("claim of an idempotent call is not renewed", slog.Any("error", err))
		case !there.Held:
			k.o.Log.Warn("claim of an idempotent call was lost", slog.String("claim_id", claim))
			return
		}
	}
}

// Keep ends the call with its result, nil for one that is too large, and returns when the result is kept: whoever has the answer
// gets it again. An error says that it is not, after some attempts; the claim then runs out, and a repetition is a new call.
func (h *Held) Keep(result *plane.ReplayResult) error {
	if h.ended {
		panic("BUG: replay: a claim is ended twice")
	}
	h.ended = true
	defer h.stop() // the claim holds while it is offered
	ctx, cancel := context.WithTimeout(context.Background(), keepingMax)
	defer cancel()
	for {
		var there plane.ReplayHeld
		err := h.k.tell(ctx, plane.ReplayEndPath, plane.ReplayEnd{ClaimID: h.claim, Result: result, Unkept: result == nil}, &there)
		if err == nil {
			if !there.Held { // or an attempt before has done it, and its answer was lost
				return fmt.Errorf("claim %s was lost", h.claim)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(keepingRetry):
		}
	}
}

// Free ends the call without a result, if it has not ended yet. It does not wait: whoever is waiting for the key learns of it later.
func (h *Held) Free() {
	if h.ended {
		return
	}
	h.ended = true
	h.stop()
	h.k.beside(func() { h.k.free(h.claim) })
}

func (k *Keeper) free(claim string) {
	var there plane.ReplayHeld
	if err := k.tell(context.Background(), plane.ReplayEndPath, plane.ReplayEnd{ClaimID: claim}, &there); err != nil {
		k.o.Log.Warn("claim of an idempotent call is not freed and will run out", slog.Any("error", err))
	}
}
