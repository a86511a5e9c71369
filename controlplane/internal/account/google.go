package account

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// GoogleStore is what sign-in with Google asks of storage.
type GoogleStore interface {
	// DeveloperByGoogle returns the developer to whom the account at Google belongs. The first time that is the one with the same
	// address, if it was confirmed, or made, who is created. Errors: ErrGoogleUnverified, ErrGoogleOther.
	DeveloperByGoogle(ctx context.Context, subject string, made Developer) (Developer, error)
}

// What can be in the way of a sign-in with Google.
var (
	ErrGoogleUnverified = apierr.New(apierr.Conflict,
		"An account with this e-mail address exists, and the address was never confirmed. Sign in with its password, or choose a new one by mail, then try again.")
	ErrGoogleOther = apierr.New(apierr.Conflict, "The account with this e-mail address belongs to another account at Google.")
	errGoogleEmail = apierr.New(apierr.Unauthorized, "Google has not confirmed your e-mail address. Confirm it there, or register with a password.")
)

// LoginGoogle signs a developer in with an ID token of Google, made for the nonce, and creates the account the first time.
// With a second factor the grant is a challenge. Errors: google.ErrNotConfigured, google.ErrBadToken, 409, 429, 502.
func (a *Accounts) LoginGoogle(ctx context.Context, token, nonce string, c Client) (Grant, error) {
	if a.Google.ClientID() == "" {
		return Grant{}, google.ErrNotConfigured
	}
	network := "google/" + Network(c.Address)
	if err := a.Throttle.Attempt(network, paceNetwork); err != nil {
		return Grant{}, err
	}
	who, err := a.Google.Verify(ctx, token, nonce)
	if err != nil {
		return Grant{}, err
	}
	a.Throttle.Refund(network)
	if !who.EmailVerified {
		return Grant{}, errGoogleEmail
	}
	email, err := NormalizeEmail(who.Email)
	if err != nil {
		return Grant{}, google.ErrBadToken.Because(err)
	}
	now := a.now()
	name := strings.TrimSpace(cut(who.Name, NameBytesMax))
	if name == "" {
		name, _, _ = strings.Cut(email, "@")
	}
	d, err := a.Store.DeveloperByGoogle(ctx, who.Subject, Developer{
		ID: uuid.NewString(), Name: name, Email: email, Plan: plan.Free, VerifiedAt: &now, CreatedAt: now,
	})
	if err != nil {
		return Grant{}, fmt.Errorf("sign in with Google: %w", err)
	}
	return a.enter(ctx, d, c)
}
