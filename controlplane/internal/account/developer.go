package account

import (
	"context"
	"time"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// Developer is an account.
type Developer struct {
	ID         string
	Name       string
	Email      string // normalized
	Plan       string
	PerMinute  *int64     // set by an operator instead of the plan's
	PerDay     *int64     // set by an operator instead of the plan's
	InFlight   *int64     // set by an operator instead of the plan's
	Tokens     *int64     // per minute, set by an operator instead of the plan's
	VerifiedAt *time.Time // when the address was shown to be theirs
	CreatedAt  time.Time
	OrgID      *string // the organization that the developer is in
}

// Terms are what the account may do.
func (d Developer) Terms() plan.Terms {
	return plan.Terms{AccountID: d.ID, Plan: d.Plan, PerMinute: d.PerMinute, PerDay: d.PerDay, InFlight: d.InFlight, Tokens: d.Tokens}
}

// Credentials are a developer with the hash of the password.
type Credentials struct {
	Developer
	PasswordHash string
}

// Change is what an operator changes of an account. Nil leaves a thing as it is; an override of 0 goes back to the
// plan's.
type Change struct {
	Plan      *string
	PerMinute *int64
	PerDay    *int64
	InFlight  *int64
	Tokens    *int64 // per minute
	Verified  bool
}

// Store is what this package asks of storage.
type Store interface {
	// CreateDeveloper also sends the links, which confirm the address. It returns ErrEmailTaken if the address has an account.
	CreateDeveloper(ctx context.Context, c Credentials, links ...MailedLink) error
	// CredentialsByEmail returns ErrNoDeveloper if nobody has the address.
	CredentialsByEmail(ctx context.Context, email string) (Credentials, error)
	// Developer returns ErrNoDeveloper if there is none with the id.
	Developer(ctx context.Context, id string) (Developer, error)
	SetPasswordHash(ctx context.Context, id, hash string) error
	// ChangeDeveloper applies a change and announces it to the nodes: every key of the account gets new limits.
	ChangeDeveloper(ctx context.Context, email string, c Change, now time.Time) (Developer, error)
	// SetPassword replaces the password hash and ends all sessions but keep; without keep, all of them.
	SetPassword(ctx context.Context, id, hash, keep string, letters ...mail.Letter) (ended int64, err error)
	// RecordLock records that sign-ins of an account are slowed down; without one, that those of an unknown address are.
	RecordLock(ctx context.Context, developerID string) error
	SessionStore
	LinkStore
	TOTPStore
	GoogleStore
	DeletionStore
}

// What can be wrong with an account or a session.
var (
	ErrEmailTaken    = apierr.New(apierr.Conflict, "An account with this e-mail address exists already. Sign in instead.")
	ErrNoDeveloper   = apierr.New(apierr.NotFound, "There is no such account.")
	ErrWrongPassword = apierr.New(apierr.Forbidden, "The current password is wrong.")
	ErrNoSession     = apierr.New(apierr.Unauthorized, "Your session is not valid or has ended. Sign in again.")
	ErrNoToken       = apierr.New(apierr.Unauthorized, "Sign in and send the access token: Authorization: Bearer ACCESS_TOKEN.")
	ErrWrongLogin    = apierr.New(apierr.Unauthorized, "The e-mail address or the password is wrong.")
)
