package wire

import "time"

// OrgRequest is the body of POST and PUT /dev/org.
type OrgRequest struct {
	Name string `json:"name" bind:"required,min=1,max=120"`
}

// OrgDetail is an organization as one of its members sees it.
type OrgDetail struct {
	OrgID     string      `json:"org_id"`
	Name      string      `json:"name"`
	Plan      string      `json:"plan"`
	Role      string      `json:"role"` // of the caller
	CreatedAt time.Time   `json:"created_at"`
	Members   []OrgMember `json:"members"`
	Invites   []Invite    `json:"invites"` // empty unless the caller may invite
}

// OrgMember is a member of an organization.
type OrgMember struct {
	DevID    string    `json:"dev_id"`
	Name     string    `json:"name"`
	Email    string    `json:"email"`
	Role     string    `json:"role"`
	JoinedAt time.Time `json:"joined_at"`
}

// Invite is an invite to an organization.
type Invite struct {
	InviteID  string    `json:"invite_id"`
	Email     string    `json:"email"`
	Role      string    `json:"role"`
	Status    string    `json:"status"` // pending, accepted, revoked, expired
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// InviteRequest is the body of POST /dev/org/invite.
type InviteRequest struct {
	Email string `json:"email" bind:"required,min=3,max=254"`
	Role  string `json:"role" bind:"enum=owner|admin|developer|billing|viewer,default=developer"`
}

// InviteSent answers POST /dev/org/invite and POST /dev/org/invite/{invite_id}/resend.
type InviteSent struct {
	Invite
	EmailSent bool    `json:"email_sent"`
	Link      *string `json:"link"` // when no e-mail was sent
}

// InviteRevoked answers DELETE /dev/org/invite/{invite_id}.
type InviteRevoked struct {
	InviteID string `json:"invite_id"`
	Status   string `json:"status"` // always "revoked"
}

// InviteInfo answers GET /dev/org/invite-info/{invite_id}.
type InviteInfo struct {
	InviteID  string    `json:"invite_id"`
	OrgName   string    `json:"org_name"`
	InvitedBy string    `json:"invited_by"`
	Email     string    `json:"email"` // masked
	Role      string    `json:"role"`
	Status    string    `json:"status"`
	ExpiresAt time.Time `json:"expires_at"`
}

// AcceptInviteRequest is the body of POST /dev/org/accept-invite.
type AcceptInviteRequest struct {
	InviteID string `json:"invite_id" bind:"required,min=1,max=128"`
}

// InviteAccepted answers POST /dev/org/accept-invite.
type InviteAccepted struct {
	InviteID string `json:"invite_id"`
	Status   string `json:"status"` // always "accepted"
	OrgID    string `json:"org_id"`
	Name     string `json:"name"` // of the organization
	Role     string `json:"role"`
}

// AddMemberRequest is the body of POST /dev/org/add-member.
type AddMemberRequest struct {
	DevID string `json:"dev_id" bind:"required,min=1,max=128"`
	Role  string `json:"role" bind:"enum=owner|admin|developer|billing|viewer,default=developer"`
}

// RoleRequest is the body of PUT /dev/org/member/{dev_id}/role.
type RoleRequest struct {
	Role string `json:"role" bind:"required,enum=owner|admin|developer|billing|viewer"`
}

// MemberRemoved answers DELETE /dev/org/member/{dev_id}.
type MemberRemoved struct {
	DevID   string `json:"dev_id"`
	Removed bool   `json:"removed"`
}

// DeveloperSearch answers GET /dev/org/search-developer.
type DeveloperSearch struct {
	Developers []FoundDeveloper `json:"developers"`
}

// FoundDeveloper is a developer that a search found.
type FoundDeveloper struct {
	DevID string `json:"dev_id"`
	Name  string `json:"name"`
	Email string `json:"email"` // masked outside of the caller's organization
}

// EmailConfig answers GET /dev/org/email-config.
type EmailConfig struct {
	Configured bool    `json:"configured"`
	From       *string `json:"from"`
}

// TestEmailSent answers POST /dev/org/test-email.
type TestEmailSent struct {
	Sent bool   `json:"sent"`
	To   string `json:"to"`
}
