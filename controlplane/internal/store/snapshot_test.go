package store

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestASnapshotReadsOneMoment(t *testing.T) {
	s := open(t)
	err := s.Snapshot(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		before, err := one[configRevRow](ctx, tx, selectConfigRev)
		if err != nil {
			return err
		}
		if _, err := s.pool.Exec(ctx, `UPDATE config_rev SET rev = rev + 1 WHERE id = 1`); err != nil { // it need not wait
			return err
		}
		after, err := one[configRevRow](ctx, tx, selectConfigRev)
		if before != after {
			t.Errorf("read %v, then %v", before, after)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestASnapshotDoesNotWrite(t *testing.T) {
	s := open(t)
	err := s.Snapshot(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE config_rev SET rev = rev + 1 WHERE id = 1`)
		return err
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "25006" {
		t.Errorf("got %v", err)
	}
}
