package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Entry is what is kept under a key.
type Entry struct {
	ClaimID string
	Request []byte // SHA-256 of what was asked
	Running bool
	Size    int64         // bytes of the sealed result; 0 for one that was not kept
	Sealed  secret.Sealed // empty while it runs, and when it was not kept
}

// Store is what this package asks of storage.
type Store interface {
	// ClaimReplay makes an entry for the claim unless there is one that is running under a lease or done, and younger than since. It
	// returns the entry that is there afterwards, which is the claim's own if its claim ID is. An unknown key ID is an error.
	ClaimReplay(ctx context.Context, c *plane.ReplayClaim, now, until, since time.Time) (Entry, error)
	// Replay returns the entry of a key without claiming it. There is none if found is false.
	Replay(ctx context.Context, scope string, key []byte, now, since time.Time) (e Entry, found bool, err error)
	// ReplayTotals returns how many entries younger than since a scope has, and the bytes of their results.
	ReplayTotals(ctx context.Context, scope string, since time.Time) (entries, bytes int64, err error)
	// ReplayScope returns the scope of a running claim, or false.
	ReplayScope(ctx context.Context, claimID string) (scope string, found bool, err error)
	// RenewReplay extends a running claim, and FinishReplay and FreeReplay end it. They report whether it was there.
	RenewReplay(ctx context.Context, claimID string, until time.Time) (bool, error)
	FinishReplay(ctx context.Context, claimID string, sealed secret.Sealed, size int64) (bool, error)
	FreeReplay(ctx context.Context, claimID string) (bool, error)
}

// ErrNoKey is a claim for an API key that is gone.
var ErrNoKey = apierr.New(apierr.NotFound, "There is no such API key any more.")

// Replays are the keys and results of all apps.
type Replays struct {
	Store Store
	Vault *secret.Vault
	Now   func() time.Time
}

// SealContext is what the result of a claim is sealed for.
func SealContext(claimID string) string { return "replay/" + claimID }

// Claim answers a claim. The bounds of a scope hold up to the claims that are made at the same time.
func (r *Replays) Claim(ctx context.Context, c *plane.ReplayClaim) (plane.ReplayAnswer, error) {
	now := r.Now()
	since := now.Add(-plane.ReplayFor)
	e, found, err := r.Store.Replay(ctx, c.Scope, c.Key, now, since)
	if err != nil {
		return plane.ReplayAnswer{}, fmt.Errorf("look up an idempotent call: %w", err)
	}
	switch {
	case found:
		return r.answer(c, &e)
	case c.Look:
		return plane.ReplayAnswer{State: plane.ReplayFree}, nil
	}
	entries, _, err := r.Store.ReplayTotals(ctx, c.Scope, since)
	if err != nil {
		return plane.ReplayAnswer{}, fmt.Errorf("count idempotent calls: %w", err)
	}
	if entries >= plane.ReplayEntriesMax {
		return plane.ReplayAnswer{State: plane.ReplayFull}, nil
	}
	if e, err = r.Store.ClaimReplay(ctx, c, now, now.Add(plane.ReplayLease), since); err != nil {
		return plane.ReplayAnswer{}, fmt.Errorf("claim an idempotent call: %w", err)
	}
	return r.answer(c, &e)
}

func (r *Replays) answer(c *plane.ReplayClaim, e *Entry) (plane.ReplayAnswer, error) {
	switch {
	case e.ClaimID == c.ClaimID && e.Running:
		return plane.ReplayAnswer{State: plane.ReplayClaimed}, nil
	case string(e.Request) != string(c.Request):
		return plane.ReplayAnswer{State: plane.ReplayOther}, nil
	case e.Running:
		return plane.ReplayAnswer{State: plane.ReplayRunning}, nil
	case e.Size == 0:
		return plane.ReplayAnswer{State: plane.ReplayUnkept}, nil
	}
	text, err := r.Vault.Open(e.Sealed, SealContext(e.ClaimID))
	if err != nil {
		return plane.ReplayAnswer{}, fmt.Errorf("open a result: %w", err)
	}
	var result plane.ReplayResult
	if err := json.Unmarshal(text, &result); err != nil {
		return plane.ReplayAnswer{}, fmt.Errorf("decode a result: %w", err)
	}
	return plane.ReplayAnswer{State: plane.ReplayDone, Result: &result}, nil
}

// Renew extends a claim and reports whether it still held.
func (r *Replays) Renew(ctx context.Context, claimID string) (bool, error) {
	held, err := r.Store.RenewReplay(ctx, claimID, r.Now().Add(plane.ReplayLease))
	if err != nil {
		return false, fmt.Errorf("renew a claim: %w", err)
	}
	return held, nil
}

// End ends a claim and reports whether it still held. A result for which its scope has no room left is not kept; that the call was
// made is.
func (r *Replays) End(ctx context.Context, end *plane.ReplayEnd) (bool, error) {
	if end.Result == nil && !end.Unkept {
		held, err := r.Store.FreeReplay(ctx, end.ClaimID)
		if err != nil {
			return false, fmt.Errorf("free a claim: %w", err)
		}
		return held, nil
	}
	var sealed secret.Sealed
	if end.Result != nil {
		if len(end.Result.Body) > plane.ReplayBytesMax {
			return false, apierr.New(apierr.TooLarge, "The result is too large to be kept. Say that it was not.")
		}
		scope, found, err := r.Store.ReplayScope(ctx, end.ClaimID)
		if err != nil || !found {
			return false, err
		}
		_, bytes, err := r.Store.ReplayTotals(ctx, scope, r.Now().Add(-plane.ReplayFor))
		if err != nil {
			return false, fmt.Errorf("count idempotent calls: %w", err)
		}
		if bytes+int64(len(end.Result.Body)) <= plane.ReplayScopeBytesMax {
			if sealed, err = r.seal(end); err != nil {
				return false, err
			}
		}
	}
	held, err := r.Store.FinishReplay(ctx, end.ClaimID, sealed, int64(len(sealed.Ciphertext)))
	if err != nil {
		return false, fmt.Errorf("keep a result: %w", err)
	}
	return held, nil
}

func (r *Replays) seal(end *plane.ReplayEnd) (secret.Sealed, error) {
	text, err := json.Marshal(end.Result)
	if err != nil {
		return secret.Sealed{}, fmt.Errorf("encode a result: %w", err)
	}
	sealed, err := r.Vault.Seal(text, SealContext(end.ClaimID))
	if err != nil {
		return secret.Sealed{}, fmt.Errorf("seal a result: %w", err)
	}
	return sealed, nil
}
