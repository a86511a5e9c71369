package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// CreateApp implements [app.Store]. Two creations at once read the same count; one of them collides and counts again.
func (s *Store) CreateApp(ctx context.Context, a app.App) error {
	return s.Tx(ctx, "create app", func(ctx context.Context, tx pgx.Tx) error {
		if err := allowApp(ctx, tx, a); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertApp, a.ID, a.DeveloperID, a.Name, a.Description, a.Environment, list(a.Families), list(a.Tasks),
			a.RateLimit, a.Active, a.ExpiresAt, a.CreatedAt, a.UpdatedAt, a.OrgID)
		if err != nil {
			return fmt.Errorf("insert app: %w", err)
		}
		return s.record(ctx, tx, appEntry(a, nil, appView(a)))
	})
}

// allowApp returns a 403 when the owner of the app may not have one more, or the developer may not make it.
func allowApp(ctx context.Context, tx pgx.Tx, a app.App) error {
	var terms plan.Terms
	counted, owner := countApps, a.DeveloperID
	if a.OrgID == nil {
		d, err := one[account.Developer](ctx, tx, selectDeveloper, a.DeveloperID)
		if err != nil {
			return missing(err, account.ErrNoSession, "load developer")
		}
		terms = d.Terms()
	} else {
		m, err := membership(ctx, tx, a.DeveloperID)
		if errors.Is(err, org.ErrNoOrg) || err == nil && m.ID != *a.OrgID {
			return org.ErrOtherOrg
		}
		if err != nil {
			return err
		}
		if err := org.Allow(m.Role, org.ChangeApps); err != nil {
			return err
		}
		terms, counted, owner = m.Terms(), countAppsOfOrg, m.ID
	}
	have, err := count(ctx, tx, counted, owner)
	if err != nil {
		return err
	}
	if err := terms.AllowApp(have); err != nil {
		return err
	}
	if have >= app.AppsPerDeveloperMax {
		return apierr.New(apierr.Forbidden, fmt.Sprintf("There are %d apps, the most there can be. Delete one first.", have))
	}
	return nil
}

// chain is the audit log that an app's matters belong to.
func chain(a app.App) string {
	if a.OrgID != nil {
		return *a.OrgID
	}
	return a.DeveloperID
}

func appEntry(a app.App, before, after any) audit.Entry {
	return audit.Entry{Chain: chain(a), Kind: audit.App, Target: a.ID, Before: before, After: after}
}

// Apps implements [app.Store].
func (s *Store) Apps(ctx context.Context, developerID string) ([]app.App, error) {
	apps, err := rows[app.App](ctx, s.pool, selectApps, developerID, app.AppsPerDeveloperMax, org.Roles(org.ReadApps))
	if err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	return apps, nil
}

// App implements [app.Store].
func (s *Store) App(ctx context.Context, developerID, appID string) (app.App, error) {
	return loadApp(ctx, s.pool, developerID, appID, org.ReadApps)
}

// UpdateApp implements [app.Store].
func (s *Store) UpdateApp(ctx context.Context, developerID, appID string, u app.Update, now time.Time) (app.App, plane.Version, error) {
	var (
		a       app.App
		version plane.Version
	)
	err := s.changing(ctx, "update app", func(ctx context.Context, tx pgx.Tx) (err error) {
		if a, err = loadApp(ctx, tx, developerID, appID, org.ChangeApps); err != nil {
			return err
		}
		before := appView(a)
		a = u.Apply(a, now)
		_, err = tx.Exec(ctx, updateApp, a.ID, a.Name, a.Description, a.Environment, list(a.Families), list(a.Tasks), a.RateLimit,
			a.Active, a.UpdatedAt)
		if err != nil {
			return fmt.Errorf("update app: %w", err)
		}
		if err := s.record(ctx, tx, appEntry(a, before, appView(a))); err != nil {
			return err
		}
		version, err = s.announceGrants(ctx, tx, selectGrantsOfApp, a.ID)
		return err
	})
	return a, version, err
}

// DeleteApp implements [app.Store].
func (s *Store) DeleteApp(ctx context.Context, developerID, appID string) (plane.Version, error) {
	var version plane.Version
	err := s.changing(ctx, "delete app", func(ctx context.Context, tx pgx.Tx) error {
		a, err := loadApp(ctx, tx, developerID, appID, org.ChangeApps)
		if err != nil {
			return err
		}
		gone, err := goneOf(ctx, tx, selectHashesOfApp, a.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteApp, a.ID); err != nil {
			return fmt.Errorf("delete app: %w", err)
		}
		if err := s.record(ctx, tx, appEntry(a, appView(a), nil)); err != nil {
			return err
		}
		version, err = s.announce(ctx, tx, gone...)
		return err
	})
	return version, err
}

// announceGrants tells the nodes what the keys that the statement selects may do now.
func (s *Store) announceGrants(ctx context.Context, tx pgx.Tx, statement, id string) (plane.Version, error) {
	found, err := rows[app.Grant](ctx, tx, statement, id)
	if err != nil {
		return 0, fmt.Errorf("load grants: %w", err)
	}
	changes := make([]plane.Change, len(found))
	for i, g := range found {
		if changes[i], err = g.Change(); err != nil {
			return 0, err
		}
	}
	return s.announce(ctx, tx, changes...)
}

// goneOf says that the values whose hashes the statement selects no longer work.
func goneOf(ctx context.Context, tx pgx.Tx, statement, id string) ([]plane.Change, error) {
	hashes, err := rows[hashRow](ctx, tx, statement, id)
	if err != nil {
		return nil, fmt.Errorf("load key hashes: %w", err)
	}
	gone := make([]plane.Change, len(hashes))
	for i, h := range hashes {
		gone[i] = app.Gone(h.Hash)
	}
	return gone, nil
}

type hashRow struct{ Hash []byte }

// loadApp loads an app for a developer who needs a right to it.
func loadApp(ctx context.Context, q querier, developerID, appID string, right org.Right) (app.App, error) {
	a, err := one[app.App](ctx, q, selectApp, appID, developerID)
	if err != nil {
		return a, missing(err, app.ErrNoApp, "load app")
	}
	return a, a.Allow(right)
}

func count(ctx context.Context, tx pgx.Tx, statement string, args ...any) (int64, error) {
	var n int64
	if err := tx.QueryRow(ctx, statement, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return n, nil
}

// list is an array that is empty rather than NULL.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
