package google

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgate.internal/shared/apierr"
)

// Where Google's own tokens come from.
const (
	DefaultIssuer  = "https://accounts.google.com"
	DefaultJWKSURL = "https://www.googleapis.com/oauth2/v3/certs"
)

// Config says whose tokens are taken, and for whom.
type Config struct {
	ClientID string // empty turns sign-in off
	Issuer   string
	JWKSURL  string
	Client   *http.Client // for the keys
	Now      func() time.Time
}

// Identity is who a token speaks of.
type Identity struct {
	Subject       string // stable, unlike the address
	Email         string
	EmailVerified bool
	Name          string // may be empty
}

// What can be wrong with a sign-in.
var (
	ErrNotConfigured = apierr.New(apierr.Unavailable, "Sign-in with Google is not configured: an operator has to set google_client_id.")
	ErrBadToken      = apierr.New(apierr.Unauthorized, "Google's answer is not valid here, or has expired. Sign in with Google again.")
)

// Verifier verifies ID tokens.
type Verifier struct {
	c    Config
	keys keySet
}

// New returns a Verifier.
func New(c Config) *Verifier {
	return &Verifier{c: c, keys: keySet{url: c.JWKSURL, client: c.Client, now: c.Now}}
}

// ClientID is the client that tokens must be made for; empty when sign-in is not configured.
func (v *Verifier) ClientID() string {
	if v == nil {
		return ""
	}
	return v.c.ClientID
}

type claims struct {
	jwt.RegisteredClaims
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
	Name          string `json:"name"`
	Nonce         string `json:"nonce"`
}

// Verify returns who a token speaks of, if the provider made it for us and for the nonce. Errors: ErrNotConfigured,
// ErrBadToken, 502.
func (v *Verifier) Verify(ctx context.Context, token, nonce string) (Identity, error) {
	if v.ClientID() == "" {
		return Identity{}, ErrNotConfigured
	}
	var (
		c        claims
		fetchErr error
	)
	_, err := jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		key, err := v.keys.key(ctx, kid)
		if e, ok := errors.AsType[*apierr.Error](err); ok {
			fetchErr = e
		}
		return key, err
	}, jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithAudience(v.c.ClientID), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(ClockSkew), jwt.WithTimeFunc(v.c.Now))
	switch {
	case fetchErr != nil:
		return Identity{}, fetchErr
	case err != nil:
		return Identity{}, ErrBadToken.Because(fmt.Errorf("read an ID token: %w", err))
	case !v.issuer(c.Issuer):
		return Identity{}, ErrBadToken.Because(fmt.Errorf("an ID token of the issuer %q", c.Issuer))
	case nonce == "" || subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(nonce)) != 1:
		return Identity{}, ErrBadToken.Because(errors.New("an ID token for another nonce"))
	case c.Subject == "" || len(c.Subject) > SubjectBytesMax || c.Email == "":
		return Identity{}, ErrBadToken.Because(errors.New("an ID token that names nobody"))
	}
	return Identity{Subject: c.Subject, Email: c.Email, EmailVerified: c.EmailVerified, Name: c.Name}, nil
}

// issuer accepts the issuer of the configuration. Google writes its own with and without the scheme.
func (v *Verifier) issuer(iss string) bool {
	return iss == v.c.Issuer || v.c.Issuer == DefaultIssuer && iss == strings.TrimPrefix(DefaultIssuer, "https://")
}
