package rewrap

import (
	"context"
	"fmt"

	"modelgate.internal/controlplane/internal/secret"
)

// BatchMax is how many values are moved in one transaction.
const BatchMax = 500

// Kind is a sort of sealed values.
type Kind string

// The kinds.
const (
	Keys          Kind = "api keys"
	SecondFactors Kind = "second factors"
	Mails         Kind = "mails"
	Webhooks      Kind = "webhook secrets"
	Replays       Kind = "replays" // results of calls with an Idempotency-Key
)

// Kinds are all kinds, in the order of the work.
func Kinds() []Kind { return []Kind{Keys, SecondFactors, Mails, Replays, Webhooks} }

// Value is a sealed value without its text.
type Value struct {
	ID      string // of the row
	Context string // that it was sealed for
	Sealed  secret.Sealed
}

// Moved is a value whose key is sealed anew.
type Moved struct {
	ID  string
	Old secret.Sealed
	New secret.Sealed
}

// Count is how many values of a kind are sealed under a key-encryption key.
type Count struct {
	Kind  Kind
	KEKID string
	N     int64
}

// Store is what this package asks of storage.
type Store interface {
	// SealedElsewhere returns up to limit values of a kind that are not sealed under the key, in the order of their ids, from the one
	// after the given id on; empty is the first.
	SealedElsewhere(ctx context.Context, kind Kind, kekID, after string, limit int) ([]Value, error)
	// Move stores values that are still as they were, in one transaction, and returns how many.
	Move(ctx context.Context, kind Kind, moved []Moved) (int64, error)
	// CountSealed counts everything that is sealed.
	CountSealed(ctx context.Context) ([]Count, error)
}

// Progress is how far the work on a kind is.
type Progress struct {
	Kind    Kind
	Moved   int64
	Unknown int64 // sealed under keys that are not configured, or unreadable
}

// Run moves everything and tells after every batch how far it is. It returns how many values could not be moved.
func Run(ctx context.Context, s Store, v *secret.Vault, tell func(Progress)) (unknown int64, err error) {
	for _, kind := range Kinds() {
		p := Progress{Kind: kind}
		for after := ""; ; {
			found, err := s.SealedElsewhere(ctx, kind, v.Current(), after, BatchMax)
			if err != nil {
				return unknown, err
			}
			var moved []Moved
			for _, value := range found {
				fresh, err := v.Rewrap(value.Sealed, value.Context)
				if err != nil {
					p.Unknown++
					continue
				}
				moved = append(moved, Moved{value.ID, value.Sealed, fresh})
			}
			n, err := s.Move(ctx, kind, moved)
			if err != nil {
				return unknown, fmt.Errorf("move %s: %w", kind, err)
			}
			p.Moved += n
			tell(p)
			if len(found) < BatchMax {
				break
			}
			after = found[len(found)-1].ID
		}
		unknown += p.Unknown
	}
	return unknown, nil
}
