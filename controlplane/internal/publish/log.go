package publish

import (
	"context"
	"time"

	"modelgate.internal/shared/plane"
)

// RecordID addresses a published record. Records are ordered by kind and then ID, both bytewise in the order of the database.
type RecordID struct{ Kind, ID string }

// Log is the published history and the state that it leads to, as the database keeps them.
type Log interface {
	// Cursor returns the newest committed version. All changes up to it can be read.
	Cursor(ctx context.Context) (plane.Cursor, error)
	// Changed returns a channel that is closed when this process may have announced something since.
	Changed() <-chan struct{}
	// ChangesBetween returns up to limit changes with after < version <= upTo in order. Versions missing at the beginning are no
	// longer kept.
	ChangesBetween(ctx context.Context, after, upTo plane.Version, limit int) ([]plane.Change, error)
	// OldestChange returns the oldest version in the log and false when the log is empty.
	OldestChange(ctx context.Context) (plane.Version, bool, error)
	// RecordsAfter returns up to limit records in the order of their IDs, beginning behind after. Their Version is the one that
	// last changed them.
	RecordsAfter(ctx context.Context, after RecordID, limit int) ([]plane.Change, error)
	// Announce publishes what decide returns, given the records of the kinds, in one transaction, and returns the version; 0
	// when there is nothing to announce. decide may run several times.
	Announce(ctx context.Context, kinds []string, decide func(have []plane.Change) ([]plane.Change, error)) (plane.Version, error)
	// TrimLog deletes from the up to limit oldest changes those made before a time and those that more than keep versions
	// followed, and whatever is older than one of them. It returns how many it deleted.
	TrimLog(ctx context.Context, before time.Time, keep int64, limit int) (int64, error)
	// Lease takes or extends the named lease and reports whether holder has it until then.
	Lease(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
}
