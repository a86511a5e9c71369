package org

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
)

// States of an invite.
const (
	Pending  = "pending"
	Accepted = "accepted"
	Revoked  = "revoked"
	Expired  = "expired" // pending for too long; not stored
)

// Invite asks whoever has an address into an organization.
type Invite struct {
	ID        string
	OrgID     string
	OrgName   string
	Email     string
	Role      string
	Status    string // as stored
	Inviter   string // name of the developer who invited
	CreatedAt time.Time
	ExpiresAt time.Time
}

// State is the status at a time.
func (i Invite) State(now time.Time) string {
	if i.Status == Pending && !now.Before(i.ExpiresAt) {
		return Expired
	}
	return i.Status
}

// InviteStore is what invites ask of storage; see [Store].
type InviteStore interface {
	// Invites returns the newest invites of an organization.
	Invites(ctx context.Context, orgID string, limit int) ([]Invite, error)
	// Invite returns an invite of any organization, or ErrNoInvite.
	Invite(ctx context.Context, id string) (Invite, error)
	// CreateInvite keeps an invite and sends the letters. Errors: ErrInvited, ErrMember, ErrInvitesFull.
	CreateInvite(ctx context.Context, by string, i Invite, letters ...mail.Letter) error
	// RenewInvite has a pending or expired invite expire at another time and sends the letters. Errors: ErrNoInvite, ErrClosed.
	RenewInvite(ctx context.Context, by, id string, expires time.Time, letters ...mail.Letter) (Invite, error)
	// RevokeInvite ends a pending invite. Errors: ErrNoInvite, ErrClosed.
	RevokeInvite(ctx context.Context, by, id string, now time.Time) error
	// AcceptInvite makes the developer by a member, once. Errors: ErrNoInvite, ErrClosed, ErrOtherEmail, ErrTaken, ErrFull, and
	// ErrUnverified if the address has to be verified and is not.
	AcceptInvite(ctx context.Context, by, id string, verified bool, now time.Time) (Invite, error)
}

// What can be wrong with an invite.
var (
	ErrNoInvite    = apierr.New(apierr.NotFound, "There is no such invite.")
	ErrInvited     = apierr.New(apierr.Conflict, "There is a pending invite for this address. Resend or revoke it.")
	ErrMember      = apierr.New(apierr.Conflict, "Somebody with this address is a member already.")
	ErrInvitesFull = apierr.New(apierr.Conflict, fmt.Sprintf("There are %d pending invites, the most there can be. Revoke one first.", InvitesMax))
	ErrClosed      = apierr.New(apierr.Conflict, "The invite is not pending any more. Ask for a new one.")
	ErrOtherEmail  = apierr.New(apierr.Forbidden, "The invite is for another e-mail address. Sign in with the account that has it.")
	ErrUnverified  = apierr.New(apierr.Forbidden, "Confirm your e-mail address first: POST /dev/auth/verify-email/send mails you a link.")
)

// Sent is an invite with what became of its mail.
type Sent struct {
	Invite
	Mailed bool
	Link   string // when no mail was sent
}

// Invite invites an address. Without mail the link is for the inviter to hand over. Errors: ErrNoOrg, ErrInvited, ErrMember,
// ErrInvitesFull, 403, 422.
func (s *Orgs) Invite(ctx context.Context, by, email, role string) (Sent, error) {
	m, inviter, err := s.inviter(ctx, by)
	if err != nil {
		return Sent{}, err
	}
	if email, err = account.NormalizeEmail(email); err != nil {
		return Sent{}, err
	}
	now := s.now()
	i := Invite{
		ID: uuid.NewString(), OrgID: m.ID, OrgName: m.Name, Email: email, Role: role, Status: Pending, Inviter: inviter, CreatedAt: now,
		ExpiresAt: now.Add(InviteTTL),
	}
	letters, err := s.letters(i)
	if err != nil {
		return Sent{}, err
	}
	if err := s.Store.CreateInvite(ctx, by, i, letters...); err != nil {
		return Sent{}, fmt.Errorf("invite: %w", err)
	}
	return s.sent(i), nil
}

// Resend sends an invite again; its time begins anew. Errors: ErrNoOrg, ErrNoInvite, ErrClosed, 403.
func (s *Orgs) Resend(ctx context.Context, by, id string) (Sent, error) {
	m, _, err := s.inviter(ctx, by)
	if err != nil {
		return Sent{}, err
	}
	i, err := s.Look(ctx, id)
	if err != nil {
		return Sent{}, err
	}
	if i.OrgID != m.ID {
		return Sent{}, ErrNoInvite
	}
	i.ExpiresAt = s.now().Add(InviteTTL)
	letters, err := s.letters(i)
	if err != nil {
		return Sent{}, err
	}
	if i, err = s.Store.RenewInvite(ctx, by, i.ID, i.ExpiresAt, letters...); err != nil {
		return Sent{}, fmt.Errorf("resend an invite: %w", err)
	}
	return s.sent(i), nil
}

// Revoke ends an invite. Errors: ErrNoOrg, ErrNoInvite, ErrClosed, 403.
func (s *Orgs) Revoke(ctx context.Context, by, inviteID string) error {
	if !id.Valid(inviteID) {
		inviteID = uuid.Nil.String() // nobody's: who has not the right to revoke is told that first
	}
	return s.Store.RevokeInvite(ctx, by, inviteID, s.now())
}

// Look returns an invite to anybody who knows its id. Error: ErrNoInvite.
func (s *Orgs) Look(ctx context.Context, inviteID string) (Invite, error) {
	if !id.Valid(inviteID) {
		return Invite{}, ErrNoInvite
	}
	return s.Store.Invite(ctx, inviteID)
}

// Accept makes the developer a member. Where there is mail the address must be verified; without it nothing can be, and the
// link that the inviter handed over stands for it. Errors: ErrNoInvite, ErrClosed, ErrOtherEmail, ErrUnverified, ErrTaken,
// ErrFull.
func (s *Orgs) Accept(ctx context.Context, by, inviteID string) (Invite, error) {
	if !id.Valid(inviteID) {
		return Invite{}, ErrNoInvite
	}
	return s.Store.AcceptInvite(ctx, by, inviteID, s.Mailer.Configured(), s.now())
}

// inviter returns the organization of a developer who may invite, and the developer's name.
func (s *Orgs) inviter(ctx context.Context, by string) (Membership, string, error) {
	m, err := s.Store.Membership(ctx, by)
	if err != nil {
		return Membership{}, "", err
	}
	if err := Allow(m.Role, Manage); err != nil {
		return Membership{}, "", err
	}
	members, err := s.Store.Members(ctx, m.ID)
	for _, one := range members {
		if one.DeveloperID == by {
			return m, one.Name, err
		}
	}
	return m, "", err
}

// letters makes the mail of an invite: one, or none when mail is not configured.
func (s *Orgs) letters(i Invite) ([]mail.Letter, error) {
	if !s.Mailer.Configured() {
		return nil, nil
	}
	l, err := s.Mailer.Letter(mail.Message{To: i.Email, Content: mail.Invite{
		Organization: i.OrgName, Inviter: i.Inviter, Role: i.Role, Link: s.link(i.ID), Expires: i.ExpiresAt,
	}}, i.ExpiresAt)
	return []mail.Letter{l}, err
}

func (s *Orgs) sent(i Invite) Sent {
	if s.Mailer.Configured() {
		return Sent{Invite: i, Mailed: true}
	}
	return Sent{Invite: i, Link: s.link(i.ID)}
}

func (s *Orgs) link(id string) string { return s.PublicURL + "/dev/#/invite?token=" + id }
