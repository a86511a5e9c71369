package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/shared/plane"
)

// Store keeps the published history.
var _ publish.Log = (*Store)(nil)

// ChangesBetween implements [publish.Log].
func (s *Store) ChangesBetween(ctx context.Context, after, upTo plane.Version, limit int) ([]plane.Change, error) {
	return s.changes(ctx, selectChangesBetween, int64(after), int64(upTo), limit)
}

// RecordsAfter implements [publish.Log].
func (s *Store) RecordsAfter(ctx context.Context, after publish.RecordID, limit int) ([]plane.Change, error) {
	read := func(r pgx.Rows) ([]plane.Change, error) { return readRecords(r, limit) }
	found, err := collect(ctx, s.pool, read, selectRecordsAfter, []any{after.Kind, after.ID, limit})
	if err != nil {
		return nil, fmt.Errorf("read published records: %w", err)
	}
	return found, nil
}

// readRecords reads about limit rows of rev, kind, id and line. A joining node has a million of them read, so nothing is allocated
// for a row: IDs and bodies are parts of two buffers for all rows, which live as long as any part of them is held.
func readRecords(r pgx.Rows, limit int) ([]plane.Change, error) {
	const idBytes, bodyBytes = 64, 640 // of a key, about
	defer r.Close()
	var (
		rev            int64
		kind, id, line pgtype.DriverBytes // overwritten with the next row
		name           string             // of the last row's kind
		ids, bodies    = make([]byte, 0, limit*idBytes), make([]byte, 0, limit*bodyBytes)
		ends           = make([]recordEnd, 0, limit)
	)
	for r.Next() {
		if err := r.Scan(&rev, &kind, &id, &line); err != nil {
			return nil, err
		}
		if string(kind) != name {
			name = string(kind)
		}
		ids, bodies = append(ids, id...), append(bodies, line...)
		ends = append(ends, recordEnd{plane.Version(rev), name, len(ids), len(bodies)})
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	changes, text := make([]plane.Change, len(ends)), string(ids)
	var last recordEnd
	for i, e := range ends {
		changes[i] = plane.Change{Version: e.rev, Kind: e.kind, ID: text[last.id:e.id], Body: bodies[last.body:e.body:e.body]}
		last = e
	}
	return changes, nil
}

// recordEnd is a record whose ID and body end at two places.
type recordEnd struct {
	rev      plane.Version
	kind     string
	id, body int
}

func (s *Store) changes(ctx context.Context, sql string, args ...any) ([]plane.Change, error) {
	found, err := rows[changeRow](ctx, s.pool, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read published changes: %w", err)
	}
	return asChanges(found), nil
}

// OldestChange implements [publish.Log].
func (s *Store) OldestChange(ctx context.Context) (plane.Version, bool, error) {
	type row struct {
		Rev int64 `db:"rev"`
	}
	oldest, err := one[row](ctx, s.pool, selectOldestChange)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the oldest change: %w", err)
	}
	return plane.Version(oldest.Rev), true, nil
}

// Announce implements [publish.Log].
func (s *Store) Announce(ctx context.Context, kinds []string, decide func(have []plane.Change) ([]plane.Change, error)) (version plane.Version, err error) {
	err = s.changing(ctx, "announce", func(ctx context.Context, tx pgx.Tx) error {
		have, err := rows[changeRow](ctx, tx, selectRecordsOfKinds, kinds)
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		changes, err := decide(asChanges(have))
		if err != nil {
			return err
		}
		version, err = s.announce(ctx, tx, changes...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// TrimLog implements [publish.Log].
func (s *Store) TrimLog(ctx context.Context, before time.Time, keep int64, limit int) (deleted int64, err error) {
	err = s.Tx(ctx, "trim config log", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, trimConfigLog, before, keep, limit)
		deleted = tag.RowsAffected()
		return err
	})
	return deleted, err
}

// Lease implements [publish.Log].
func (s *Store) Lease(ctx context.Context, name, holder string, now, until time.Time) (mine bool, err error) {
	err = s.Tx(ctx, "take lease", func(ctx context.Context, tx pgx.Tx) error {
		var got string
		err := tx.QueryRow(ctx, takeLease, name, holder, until, now).Scan(&got)
		mine = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return mine && err == nil, err
}

type changeRow struct {
	Rev  int64   `db:"rev"`
	Kind string  `db:"kind"`
	ID   string  `db:"id"`
	Body *string `db:"body"` // JSON
	Gone bool    `db:"gone"`
}

func asChanges(found []changeRow) []plane.Change {
	changes := make([]plane.Change, len(found))
	for i, r := range found {
		changes[i] = plane.Change{Version: plane.Version(r.Rev), Kind: r.Kind, ID: r.ID, Gone: r.Gone}
		if r.Body != nil {
			changes[i].Body = json.RawMessage(*r.Body)
		}
	}
	return changes
}
