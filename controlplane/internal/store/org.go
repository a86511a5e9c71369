package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
)

// CreateOrg implements [org.Store].
func (s *Store) CreateOrg(ctx context.Context, by string, o org.Org) (org.Org, error) {
	err := s.Tx(ctx, "create organization", func(ctx context.Context, tx pgx.Tx) error {
		d, err := one[account.Developer](ctx, tx, selectDeveloper, by)
		if err != nil {
			return missing(err, account.ErrNoSession, "load developer")
		}
		if err := org.AllowCreate(d.Plan); err != nil {
			return err
		}
		if d.OrgID != nil {
			return org.ErrTaken
		}
		o.Plan = d.Plan
		if _, err := tx.Exec(ctx, insertOrg, o.ID, o.Name, o.Plan, o.CreatedAt, by); err != nil {
			return fmt.Errorf("insert organization: %w", err)
		}
		if err := s.addMember(ctx, tx, o.ID, by, org.Owner, o.CreatedAt); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Chain: o.ID, Kind: audit.Org, Target: o.ID, After: map[string]any{"name": o.Name, "plan": o.Plan}})
	})
	return o, taken(err)
}

// taken is ErrTaken for a developer who became a member elsewhere meanwhile.
func taken(err error) error {
	if violates(err, "org_members_pk") {
		return org.ErrTaken
	}
	return err
}

// addMember makes a developer a member, which both the organization and the developer find in their audit log.
func (s *Store) addMember(ctx context.Context, tx pgx.Tx, orgID, developerID, role string, at time.Time) error {
	if _, err := tx.Exec(ctx, insertMember, developerID, orgID, role, at); err != nil {
		return fmt.Errorf("insert member: %w", err)
	}
	return s.recordMember(ctx, tx, orgID, developerID, nil, map[string]any{"org_id": orgID, "role": role})
}

func (s *Store) recordMember(ctx context.Context, tx pgx.Tx, orgID, developerID string, before, after map[string]any) error {
	e := audit.Entry{Chain: orgID, Kind: audit.Member, Target: developerID}
	if before != nil {
		e.Before = before
	}
	if after != nil {
		e.After = after
	}
	mine := e
	mine.Chain = developerID
	return s.record(ctx, tx, e, mine)
}

// Membership implements [org.Store].
func (s *Store) Membership(ctx context.Context, by string) (org.Membership, error) {
	return membership(ctx, s.pool, by)
}

func membership(ctx context.Context, q querier, by string) (org.Membership, error) {
	m, err := one[org.Membership](ctx, q, selectMembership, by)
	return m, missing(err, org.ErrNoOrg, "load membership")
}

// manager loads the membership of a developer who may manage the organization.
func manager(ctx context.Context, q querier, by string) (org.Membership, error) {
	m, err := membership(ctx, q, by)
	if err != nil {
		return m, err
	}
	return m, org.Allow(m.Role, org.Manage)
}

// Members implements [org.Store].
func (s *Store) Members(ctx context.Context, orgID string) ([]org.Member, error) {
	members, err := rows[org.Member](ctx, s.pool, selectMembers, orgID, org.MembersMax)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return members, nil
}

// RenameOrg implements [org.Store].
func (s *Store) RenameOrg(ctx context.Context, by, name string) error {
	return s.Tx(ctx, "rename organization", func(ctx context.Context, tx pgx.Tx) error {
		m, err := manager(ctx, tx, by)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, renameOrg, m.ID, name); err != nil {
			return fmt.Errorf("rename organization: %w", err)
		}
		return s.record(ctx, tx, audit.Entry{
			Chain: m.ID, Kind: audit.Org, Target: m.ID, Before: map[string]any{"name": m.Name}, After: map[string]any{"name": name},
		})
	})
}

// ChangeOrg implements [org.Store].
func (s *Store) ChangeOrg(ctx context.Context, id string, c org.Change) (org.Org, error) {
	var o org.Org
	err := s.changing(ctx, "change organization", func(ctx context.Context, tx pgx.Tx) (err error) {
		if o, err = one[org.Org](ctx, tx, selectOrg, id); err != nil {
			return missing(err, org.ErrUnknown, "load organization")
		}
		before := termsView(o)
		o = c.Apply(o)
		if _, err := tx.Exec(ctx, updateOrgTerms, o.ID, o.PerMinute, o.PerDay, o.InFlight, o.Tokens); err != nil {
			return fmt.Errorf("update terms: %w", err)
		}
		err = s.record(ctx, tx, audit.Entry{Chain: o.ID, Kind: audit.Org, Target: o.ID, Before: before, After: termsView(o)})
		if err != nil {
			return err
		}
		_, err = s.announceGrants(ctx, tx, selectGrantsOfOrg, o.ID)
		return err
	})
	return o, err
}

// SearchDevelopers implements [org.Store].
func (s *Store) SearchDevelopers(ctx context.Context, by, part string, limit int) ([]org.Found, error) {
	m, err := manager(ctx, s.pool, by)
	if err != nil {
		return nil, err
	}
	found, err := rows[org.Found](ctx, s.pool, searchDevelopers, m.ID, part, limit)
	if err != nil {
		return nil, fmt.Errorf("search developers: %w", err)
	}
	return found, nil
}

// AddMember implements [org.Store].
func (s *Store) AddMember(ctx context.Context, by, developerID, role string, now time.Time) (org.Member, error) {
	var added org.Member
	err := s.Tx(ctx, "add member", func(ctx context.Context, tx pgx.Tx) error {
		m, err := manager(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := allowRole(m, role); err != nil {
			return err
		}
		d, err := one[account.Developer](ctx, tx, selectDeveloper, developerID)
		if err != nil {
			return missing(err, org.ErrNoDeveloper, "load developer")
		}
		if err := room(ctx, tx, m.ID, d); err != nil {
			return err
		}
		added = org.Member{DeveloperID: d.ID, Name: d.Name, Email: d.Email, Role: role, JoinedAt: now}
		return s.addMember(ctx, tx, m.ID, d.ID, role, now)
	})
	return added, taken(err)
}

// room returns nil if a developer can become a member.
func room(ctx context.Context, tx pgx.Tx, orgID string, d account.Developer) error {
	if d.OrgID != nil {
		return org.ErrTaken
	}
	have, err := count(ctx, tx, countMembers, orgID)
	if err == nil && have >= org.MembersMax {
		err = org.ErrFull
	}
	return err
}

// allowRole: only owners make owners.
func allowRole(m org.Membership, role string) error {
	if role == org.Owner {
		return org.Allow(m.Role, org.Own)
	}
	return nil
}

// RemoveMember implements [org.Store].
func (s *Store) RemoveMember(ctx context.Context, by, developerID string) error {
	return s.changing(ctx, "remove member", func(ctx context.Context, tx pgx.Tx) error {
		m, err := membership(ctx, tx, by)
		if err != nil {
			return err
		}
		if by != developerID {
			if err := org.Allow(m.Role, org.Manage); err != nil {
				return err
			}
		}
		gone, err := loadMember(ctx, tx, m, by, developerID)
		if err != nil {
			return err
		}
		if err := keepOwner(ctx, tx, m.ID, gone); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteMember, developerID); err != nil {
			return fmt.Errorf("delete member: %w", err)
		}
		if err := s.recordMember(ctx, tx, m.ID, developerID, map[string]any{"org_id": m.ID, "role": gone.Role}, nil); err != nil {
			return err
		}
		return s.inherit(ctx, tx, m.ID, developerID)
	})
}

// loadMember loads a member whom another one wants to change. Owners are the matter of owners.
func loadMember(ctx context.Context, tx pgx.Tx, m org.Membership, by, developerID string) (org.Member, error) {
	found, err := one[org.Member](ctx, tx, selectMember, m.ID, developerID)
	if err != nil {
		return found, missing(err, org.ErrNoMember, "load member")
	}
	if found.Role == org.Owner && by != developerID {
		err = org.Allow(m.Role, org.Own)
	}
	return found, err
}

// keepOwner returns ErrLastOwner if nobody else owns the organization.
func keepOwner(ctx context.Context, tx pgx.Tx, orgID string, m org.Member) error {
	if m.Role != org.Owner {
		return nil
	}
	owners, err := count(ctx, tx, countOwners, orgID)
	if err == nil && owners < 2 {
		err = org.ErrLastOwner
	}
	return err
}

// inherit gives what a former member made for the organization to its oldest owner, so that it stays when the account goes.
func (s *Store) inherit(ctx context.Context, tx pgx.Tx, orgID, developerID string) error {
	var heir string
	if err := tx.QueryRow(ctx, selectHeir, orgID, developerID).Scan(&heir); err != nil {
		return fmt.Errorf("find an heir: %w", err)
	}
	_, err1 := tx.Exec(ctx, inheritApps, orgID, developerID, heir)
	keys, err2 := tx.Exec(ctx, inheritKeys, orgID, developerID, heir)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("inherit apps: %w", err)
	}
	if keys.RowsAffected() == 0 {
		return nil
	}
	_, err := s.announceGrants(ctx, tx, selectGrantsOfOrg, orgID)
	return err
}

// ChangeRole implements [org.Store].
func (s *Store) ChangeRole(ctx context.Context, by, developerID, role string) (org.Member, error) {
	var changed org.Member
	err := s.Tx(ctx, "change role", func(ctx context.Context, tx pgx.Tx) error {
		m, err := manager(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := allowRole(m, role); err != nil {
			return err
		}
		if changed, err = loadMember(ctx, tx, m, by, developerID); err != nil {
			return err
		}
		if role != org.Owner {
			if err := keepOwner(ctx, tx, m.ID, changed); err != nil {
				return err
			}
		}
		before := map[string]any{"org_id": m.ID, "role": changed.Role}
		changed.Role = role
		if _, err := tx.Exec(ctx, updateRole, developerID, role); err != nil {
			return fmt.Errorf("update role: %w", err)
		}
		return s.recordMember(ctx, tx, m.ID, developerID, before, map[string]any{"org_id": m.ID, "role": role})
	})
	return changed, err
}
