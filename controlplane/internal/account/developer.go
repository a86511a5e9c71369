package account

import (
	"context"
	"time"

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
	VerifiedAt *time.Time // when the address was shown to be theirs
	CreatedAt  time.Time
}

// Terms are what the account may do.
func (d Developer) Terms() plan.Terms {
	return plan.Terms{AccountID: d.ID, Plan: d.Plan, PerMinute: d.PerMinute, PerDay: d.PerDay}
}

// Credentials are a developer with the hash of the password.
type Credentials struct {
	Developer
	PasswordHash string
}

// Session is a sign-in.
type Session struct {
	ID          string
	DeveloperID string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// Change is what an operator changes of an account. Nil leaves a thing as it is; an override of 0 goes back to the
// plan's.
type Change struct {
	Plan      *string
	PerMinute *int64
	PerDay    *int64
	Verified  bool
}

// Store is what this package asks of storage.
type Store interface {
	// CreateDeveloper returns ErrEmailTaken if the address has an account.
	CreateDeveloper(ctx context.Context, c Credentials) error
	// CredentialsByEmail returns ErrNoDeveloper if nobody has the address.
	CredentialsByEmail(ctx context.Context, email string) (Credentials, error)
	// Developer returns ErrNoDeveloper if there is none with the id.
	Developer(ctx context.Context, id string) (Developer, error)
	SetPasswordHash(ctx context.Context, id, hash string) error
	// ChangeDeveloper applies a change and announces it to the nodes: every key of the account gets new limits.
	ChangeDeveloper(ctx context.Context, email string, c Change, now time.Time) (Developer, error)
	// CreateSession keeps at most keep sessions of the developer: the oldest end.
	CreateSession(ctx context.Context, s Session, keep int) error
	// Session returns ErrNoSession if there is none with the id.
	Session(ctx context.Context, id string) (Session, error)
}

// What can be wrong with an account or a session.
var (
	ErrEmailTaken  = apierr.New(apierr.Conflict, "An account with this e-mail address exists already. Sign in instead.")
	ErrNoDeveloper = apierr.New(apierr.NotFound, "There is no such account.")
	ErrNoSession   = apierr.New(apierr.Unauthorized, "Your session is not valid or has ended. Sign in again.")
	ErrNoToken     = apierr.New(apierr.Unauthorized, "Sign in and send the access token: Authorization: Bearer ACCESS_TOKEN.")
	ErrWrongLogin  = apierr.New(apierr.Unauthorized, "The e-mail address or the password is wrong.")
)
