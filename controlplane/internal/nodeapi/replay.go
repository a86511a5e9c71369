package nodeapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
	"modelgate.internal/shared/plane"
)

// Replays keep calls under an Idempotency-Key; see package replay.
type Replays interface {
	Claim(ctx context.Context, c *plane.ReplayClaim) (plane.ReplayAnswer, error)
	Renew(ctx context.Context, claimID string) (held bool, err error)
	End(ctx context.Context, end *plane.ReplayEnd) (held bool, err error)
}

// claimReplay answers POST ReplayClaimPath.
func (h handler) claimReplay(w *answer, r *http.Request) error {
	var c plane.ReplayClaim
	if err := message(w, r, BodyBytesMax, &c); err != nil {
		return err
	}
	if !id.Valid(c.ClaimID) || !id.Valid(c.Scope) || !id.Valid(c.KeyID) || len(c.Key) != sha256.Size || len(c.Request) != sha256.Size {
		return apierr.New(apierr.BadRequest, "A claim has the UUIDs of claim, scope and key and two SHA-256 hashes.")
	}
	there, err := h.Replays.Claim(r.Context(), &c)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, there)
	return nil
}

// renewReplay answers POST ReplayRenewPath.
func (h handler) renewReplay(w *answer, r *http.Request) error {
	var renewal plane.ReplayRenewal
	if err := message(w, r, BodyBytesMax, &renewal); err != nil {
		return err
	}
	if !id.Valid(renewal.ClaimID) {
		return errNoClaim
	}
	held, err := h.Replays.Renew(r.Context(), renewal.ClaimID)
	return tellHeld(w, held, err)
}

// endReplay answers POST ReplayEndPath.
func (h handler) endReplay(w *answer, r *http.Request) error {
	var end plane.ReplayEnd
	if err := message(w, r, plane.ReplayMessageBytesMax, &end); err != nil {
		return err
	}
	if !id.Valid(end.ClaimID) {
		return errNoClaim
	}
	held, err := h.Replays.End(r.Context(), &end)
	return tellHeld(w, held, err)
}

var errNoClaim = apierr.New(apierr.BadRequest, "The claim is not a UUID.")

func tellHeld(w *answer, held bool, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, plane.ReplayHeld{Held: held})
	return nil
}

// message decodes a body of another program of ours. Errors: 400, 413.
func message(w *answer, r *http.Request, bytesMax int, into any) error {
	body, err := receive(w, r, bytesMax)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return apierr.New(apierr.BadRequest, "The body is not what this path takes.").Because(err)
	}
	return nil
}
