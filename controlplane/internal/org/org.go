package org

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
)

// Org is an organization.
type Org struct {
	ID        string
	Name      string
	Plan      string
	PerMinute *int64 // set by an operator instead of the plan's
	PerDay    *int64 // set by an operator instead of the plan's
	InFlight  *int64 // set by an operator instead of the plan's
	Tokens    *int64 // per minute, set by an operator instead of the plan's
	CreatedAt time.Time
}

// Terms are what the organization may do.
func (o Org) Terms() plan.Terms {
	return plan.Terms{AccountID: o.ID, Plan: o.Plan, PerMinute: o.PerMinute, PerDay: o.PerDay, InFlight: o.InFlight, Tokens: o.Tokens}
}

// Membership is an organization as one of its members sees it.
type Membership struct {
	Org
	Role string
}

// Member is a developer in an organization.
type Member struct {
	DeveloperID string
	Name        string
	Email       string
	Role        string
	JoinedAt    time.Time
}

// Found is a developer that a search found.
type Found struct {
	DeveloperID string
	Name        string
	Email       string
	Colleague   bool // of the same organization
}

// Store is what this package asks of storage. by is the developer who asks: without an organization everything is ErrNoOrg,
// without the right a 403, and things of another organization do not exist.
type Store interface {
	// CreateOrg makes an organization with the plan of its first owner. Errors: ErrTaken, a 403 for a plan other than Enterprise.
	CreateOrg(ctx context.Context, by string, o Org) (Org, error)
	Membership(ctx context.Context, by string) (Membership, error)
	Members(ctx context.Context, orgID string) ([]Member, error)
	// ChangeOrg changes limits and publishes them. Error: ErrUnknown.
	ChangeOrg(ctx context.Context, id string, c Change) (Org, error)
	RenameOrg(ctx context.Context, by, name string) error
	SearchDevelopers(ctx context.Context, by, part string, limit int) ([]Found, error)
	// AddMember returns ErrNoDeveloper, ErrTaken or ErrFull.
	AddMember(ctx context.Context, by, developerID, role string, now time.Time) (Member, error)
	// RemoveMember returns ErrNoMember or ErrLastOwner. What the member made for the organization goes to its oldest owner.
	RemoveMember(ctx context.Context, by, developerID string) error
	// ChangeRole returns ErrNoMember or ErrLastOwner.
	ChangeRole(ctx context.Context, by, developerID, role string) (Member, error)
	InviteStore
}

// What can be wrong with an organization or a member.
var (
	ErrNoOrg       = apierr.New(apierr.NotFound, "You are in no organization.")
	ErrOtherOrg    = apierr.New(apierr.NotFound, "There is no such organization.")
	ErrNoMember    = apierr.New(apierr.NotFound, "There is no such member in your organization.")
	ErrNoDeveloper = apierr.New(apierr.NotFound, "There is no such developer.")
	ErrTaken       = apierr.New(apierr.Conflict, "The developer is in an organization already, and can be in one only.")
	ErrLastOwner   = apierr.New(apierr.Conflict, "An organization needs an owner. Make somebody else an owner first.")
	ErrFull        = apierr.New(apierr.Conflict, fmt.Sprintf("The organization has %d members, the most there can be.", MembersMax))
)

// AllowCreate returns nil if a plan comes with organizations, else a 403 that names the one that does.
func AllowCreate(planID string) error { return enterpriseOnly(planID, "Organizations need") }

func enterpriseOnly(planID, what string) error {
	if planID == plan.Enterprise {
		return nil
	}
	have, _ := plan.ByID(planID)
	return apierr.New(apierr.Forbidden, fmt.Sprintf("%s the Enterprise plan. Yours is %s.", what, have.Name))
}

// Orgs is the work with organizations.
type Orgs struct {
	Store     Store
	Mailer    *mail.Mailer
	PublicURL string // of the portal, for links in mails
	Now       func() time.Time
}

// Detail is an organization with everything that the caller may see of it.
type Detail struct {
	Membership
	Members []Member
	Invites []Invite // none without the right to invite
}

// Create makes an organization whose owner is the developer. Errors: 403 without the Enterprise plan, ErrTaken, 422.
func (s *Orgs) Create(ctx context.Context, by, name string) (Detail, error) {
	if err := checkName(&name); err != nil {
		return Detail{}, err
	}
	if _, err := s.Store.CreateOrg(ctx, by, Org{ID: uuid.NewString(), Name: name, CreatedAt: s.now()}); err != nil {
		return Detail{}, fmt.Errorf("create an organization: %w", err)
	}
	return s.Get(ctx, by)
}

// Membership returns the organization that a developer is in. Error: ErrNoOrg.
func (s *Orgs) Membership(ctx context.Context, by string) (Membership, error) {
	return s.Store.Membership(ctx, by)
}

// Get returns the organization that a developer is in. Error: ErrNoOrg.
func (s *Orgs) Get(ctx context.Context, by string) (Detail, error) {
	m, err := s.Store.Membership(ctx, by)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Membership: m}
	if d.Members, err = s.Store.Members(ctx, m.ID); err != nil {
		return Detail{}, err
	}
	if Allow(m.Role, Manage) == nil {
		d.Invites, err = s.Store.Invites(ctx, m.ID, InvitesListed)
	}
	return d, err
}

// Rename changes the name. Errors: ErrNoOrg, 403, 422.
func (s *Orgs) Rename(ctx context.Context, by, name string) (Detail, error) {
	if err := checkName(&name); err != nil {
		return Detail{}, err
	}
	if err := s.Store.RenameOrg(ctx, by, name); err != nil {
		return Detail{}, err
	}
	return s.Get(ctx, by)
}

// Search finds developers by a part of their address. Addresses of others than colleagues are masked. Errors: ErrNoOrg, 403,
// 422.
func (s *Orgs) Search(ctx context.Context, by, part string) ([]Found, error) {
	part = strings.ToLower(strings.TrimSpace(part))
	if n := len([]rune(part)); n < SearchRunes {
		return nil, apierr.Violations(apierr.Item{
			Type: "string_too_short", Loc: []any{"query", "email"}, Input: part, Ctx: map[string]any{"min_length": SearchRunes},
			Msg: fmt.Sprintf("String should have at least %d characters", SearchRunes),
		})
	}
	found, err := s.Store.SearchDevelopers(ctx, by, part, SearchMax)
	for i, f := range found {
		if !f.Colleague {
			found[i].Email = Mask(f.Email)
		}
	}
	return found, err
}

// AddMember makes a developer a member. Errors: ErrNoOrg, ErrNoDeveloper, ErrTaken, ErrFull, 403.
func (s *Orgs) AddMember(ctx context.Context, by, developerID, role string) (Member, error) {
	if !id.Valid(developerID) {
		developerID = uuid.Nil.String() // nobody's: who has not the right to add members is told that first
	}
	return s.Store.AddMember(ctx, by, developerID, role, s.now())
}

// RemoveMember ends a membership; it is anybody's right to end their own. Errors: ErrNoOrg, ErrNoMember, ErrLastOwner, 403.
func (s *Orgs) RemoveMember(ctx context.Context, by, developerID string) error {
	if !id.Valid(developerID) {
		developerID = uuid.Nil.String()
	}
	return s.Store.RemoveMember(ctx, by, developerID)
}

// ChangeRole gives a member another role. Errors: ErrNoOrg, ErrNoMember, ErrLastOwner, 403.
func (s *Orgs) ChangeRole(ctx context.Context, by, developerID, role string) (Member, error) {
	if !id.Valid(developerID) {
		developerID = uuid.Nil.String()
	}
	return s.Store.ChangeRole(ctx, by, developerID, role)
}

// AllowMail returns nil if a developer may send test mails: with the Enterprise plan, or as one who manages an organization
// that has it. Else the error is a 403.
func (s *Orgs) AllowMail(ctx context.Context, d account.Developer) error {
	if d.OrgID == nil || d.Plan == plan.Enterprise {
		return enterpriseOnly(d.Plan, "Test mails need")
	}
	m, err := s.Store.Membership(ctx, d.ID)
	if err != nil {
		return err
	}
	if err := Allow(m.Role, Manage); err != nil {
		return err
	}
	return enterpriseOnly(m.Plan, "Test mails need")
}

// Mask hides most of an address: the first two letters and the domain stay.
func Mask(email string) string {
	local, domain, _ := strings.Cut(email, "@")
	return local[:min(2, max(len(local)-1, 0))] + "•••••@" + domain
}

// checkName trims a name and refuses it if nothing is left.
func checkName(name *string) error {
	given := *name
	if *name = strings.TrimSpace(given); *name != "" {
		return nil
	}
	return apierr.Violations(apierr.Item{
		Type: "string_too_short", Loc: []any{"body", "name"}, Msg: "String should have at least 1 character",
		Input: given, Ctx: map[string]any{"min_length": 1},
	})
}

func (s *Orgs) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }
