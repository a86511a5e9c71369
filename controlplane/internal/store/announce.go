package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/shared/plane"
)

// announce publishes the changes in order, one version each, and returns the last version; without changes, the version
// that is in force. It belongs in the transaction
// that makes them true, as its last step: the row of config_rev is held from here to the commit, which is what makes the
// versions gapless and gives them the order of the commits.
//
// config_log gets every change, config_records the state after them. Nobody sees either before the commit.
func (s *Store) announce(ctx context.Context, tx pgx.Tx, changes ...plane.Change) (plane.Version, error) {
	if len(changes) == 0 {
		row, err := one[configRevRow](ctx, tx, selectConfigRev)
		if err != nil {
			return 0, fmt.Errorf("read the config version: %w", err)
		}
		return plane.Version(row.Rev), nil
	}
	var rev int64
	if err := tx.QueryRow(ctx, bumpConfigRev, len(changes)).Scan(&rev); err != nil {
		return 0, fmt.Errorf("bump the config version: %w", err)
	}
	var (
		first = rev - int64(len(changes)) + 1
		log   = newRecordColumns(len(changes))
		held  = newRecordColumns(len(changes))
		gone  = newRecordColumns(0)
		last  = make(map[recordID]int, len(changes))
	)
	for i, c := range changes {
		log.add(first+int64(i), c)
		last[recordID{c.Kind, c.ID}] = i
	}
	for i, c := range changes { // one statement may not write a row twice, so only the last word on each record is kept
		switch {
		case last[recordID{c.Kind, c.ID}] != i:
		case c.Gone:
			gone.add(first+int64(i), c)
		default:
			held.add(first+int64(i), c)
		}
	}
	if _, err := tx.Exec(ctx, insertConfigLog, log.revs, log.kinds, log.ids, log.bodies, log.gone, s.Now()); err != nil {
		return 0, fmt.Errorf("write the config log: %w", err)
	}
	if len(held.ids) > 0 {
		if _, err := tx.Exec(ctx, upsertConfigRecords, held.revs, held.kinds, held.ids, held.bodies); err != nil {
			return 0, fmt.Errorf("write config records: %w", err)
		}
	}
	if len(gone.ids) > 0 {
		if _, err := tx.Exec(ctx, deleteConfigRecords, gone.kinds, gone.ids); err != nil {
			return 0, fmt.Errorf("remove config records: %w", err)
		}
	}
	return plane.Version(rev), nil
}

type recordID struct{ kind, id string }

// recordColumns are changes turned into one array per column, for unnest. Bodies go as text, since arrays of JSONB are not
// in the common dialect.
type recordColumns struct {
	revs       []int64
	kinds, ids []string
	bodies     []*string // nil when gone
	gone       []bool
}

func newRecordColumns(n int) *recordColumns {
	return &recordColumns{
		revs: make([]int64, 0, n), kinds: make([]string, 0, n), ids: make([]string, 0, n),
		bodies: make([]*string, 0, n), gone: make([]bool, 0, n),
	}
}

func (r *recordColumns) add(rev int64, c plane.Change) {
	var body *string
	if !c.Gone {
		text := string(c.Body)
		body = &text
	}
	r.revs, r.kinds, r.ids = append(r.revs, rev), append(r.kinds, c.Kind), append(r.ids, c.ID)
	r.bodies, r.gone = append(r.bodies, body), append(r.gone, c.Gone)
}

// changing runs a transaction that announces something. Those of one process take turns: all of them need the row of
// config_rev, and waiting for a turn is cheaper than being restarted by the database.
func (s *Store) changing(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return away(fmt.Errorf("%s: wait for a turn to change the configuration: %w", name, ctx.Err()))
	}
	err := s.Tx(ctx, name, fn)
	<-s.turn
	s.news.tell() // also after an error: an ambiguous commit may have announced
	return err
}

// Changed returns a channel that is closed once this process may have announced something after this call. Other processes
// announce too, so whoever waits for it also looks at [Store.Cursor] now and then. Ask for the channel first, then read the
// state.
func (s *Store) Changed() <-chan struct{} { return s.news.wait() }

// Cursor returns the newest version that has been announced.
func (s *Store) Cursor(ctx context.Context) (plane.Cursor, error) {
	row, err := one[configRevRow](ctx, s.pool, selectConfigRev)
	if err != nil {
		return plane.Cursor{}, fmt.Errorf("read the config version: %w", err)
	}
	return plane.Cursor{Epoch: uint64(row.Epoch), Version: plane.Version(row.Rev)}, nil
}

type configRevRow struct {
	Epoch int64 `db:"epoch"`
	Rev   int64 `db:"rev"`
}

// news wakes everyone who waits, any number of times.
type news struct {
	mu sync.Mutex
	c  chan struct{}
}

func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c == nil {
		n.c = make(chan struct{})
	}
	return n.c
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c != nil {
		close(n.c)
		n.c = nil
	}
}
