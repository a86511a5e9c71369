package app

import (
	"crypto/sha256"
	"fmt"

	"modelgate.internal/shared/apierr"
)

// Once makes a request happen once: a client that lost the answer asks again under the same Idempotency-Key and gets what
// was made the first time. It counts for one developer and OnceFor.
type Once struct {
	Hash    [sha256.Size]byte // of the Idempotency-Key
	Request [sha256.Size]byte // of everything that was asked
}

// What can be wrong with a repeated request.
var (
	ErrOnceOther = apierr.New(apierr.Conflict, "The Idempotency-Key was used for another request within the last 24 hours. Send a new one.")
	ErrOnceGone  = apierr.New(apierr.Conflict,
		"The request was carried out before, but the value that it made has been replaced or revoked since. Send a new Idempotency-Key for a new one.")
	ErrOnceMany = apierr.New(apierr.Limited, fmt.Sprintf(
		"%d requests with an Idempotency-Key within 24 hours are the most there can be. Send none, or wait.", OncePerDeveloperMax))
)

// NewOnce returns what an Idempotency-Key stands for, nil for an empty one. The parts are everything that tells one request
// from another: operation, ids, body. Error: 422.
func NewOnce(idempotencyKey string, parts ...string) (*Once, error) {
	if idempotencyKey == "" {
		return nil, nil //nolint:nilnil // nothing was asked for
	}
	if n := len(idempotencyKey); n > OnceBytesMax {
		return nil, apierr.Violations(apierr.Item{
			Type: "string_too_long", Loc: []any{"header", "Idempotency-Key"}, Msg: fmt.Sprintf("String should have at most %d characters", OnceBytesMax),
			Input: idempotencyKey[:32] + "…", Ctx: map[string]any{"max_length": OnceBytesMax},
		})
	}
	request := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(request, "%d:%s", len(part), part)
	}
	return &Once{Hash: sha256.Sum256([]byte(idempotencyKey)), Request: [sha256.Size]byte(request.Sum(nil))}, nil
}
