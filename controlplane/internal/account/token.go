package account

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// Names in session tokens.
const (
	tokenIssuer   = "modelgate"
	tokenAudience = "modelgate-portal"

	challengeAudience = "modelgate-second-factor"
)

// Signer writes and reads session tokens: JWTs signed with Ed25519. Several keys may be in force while they are replaced.
// It is immutable.
type Signer struct {
	kid     string
	private ed25519.PrivateKey
	public  map[string]ed25519.PublicKey
}

// NewSigner returns a Signer that signs with the first of the seeds and accepts what any of them signed.
func NewSigner(seeds [][]byte) (*Signer, error) {
	s := &Signer{public: make(map[string]ed25519.PublicKey, len(seeds))}
	for _, seed := range seeds {
		if len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("read a session key: %d bytes, want %d", len(seed), ed25519.SeedSize)
		}
		private := ed25519.NewKeyFromSeed(seed)
		public := private.Public().(ed25519.PublicKey) //nolint:forcetypeassert // documented
		sum := sha256.Sum256(public)
		kid := hex.EncodeToString(sum[:8])
		if s.private == nil {
			s.private, s.kid = private, kid
		}
		s.public[kid] = public
	}
	if s.private == nil {
		return nil, errors.New("read the session keys: there is none")
	}
	return s, nil
}

type sessionClaims struct {
	jwt.RegisteredClaims
	SessionID string `json:"sid"`
}

// Sign returns a token of a session.
func (s *Signer) Sign(session Session, issued, expires time.Time) (string, error) {
	return s.sign(tokenAudience, session.DeveloperID, session.ID, issued, expires)
}

// Challenge returns a token that says that a developer has shown the first factor.
func (s *Signer) Challenge(developerID string, issued, expires time.Time) (string, error) {
	return s.sign(challengeAudience, developerID, "", issued, expires)
}

func (s *Signer) sign(audience, developerID, sessionID string, issued, expires time.Time) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: tokenIssuer, Audience: jwt.ClaimStrings{audience}, Subject: developerID, ID: uuid.NewString(),
			IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(expires),
		},
		SessionID: sessionID,
	})
	token.Header["kid"] = s.kid
	text, err := token.SignedString(s.private)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text, nil
}

// Read returns the session and the developer that a token names, if it is ours, for the portal and not expired.
func (s *Signer) Read(text string, now time.Time) (sessionID, developerID string, err error) {
	claims, err := s.read(text, tokenAudience, now)
	if err != nil {
		return "", "", err
	}
	if claims.SessionID == "" {
		return "", "", errors.New("read a token: it names no session")
	}
	return claims.SessionID, claims.Subject, nil
}

// ReadChallenge returns the developer that a challenge names, if it is ours and not expired.
func (s *Signer) ReadChallenge(text string, now time.Time) (developerID string, err error) {
	claims, err := s.read(text, challengeAudience, now)
	return claims.Subject, err
}

func (s *Signer) read(text, audience string, now time.Time) (sessionClaims, error) {
	if len(text) > TokenBytesMax {
		return sessionClaims{}, errors.New("read a token: it is too long")
	}
	var claims sessionClaims
	_, err := jwt.ParseWithClaims(text, &claims, s.key,
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(tokenIssuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		return sessionClaims{}, fmt.Errorf("read a token: %w", err)
	}
	if claims.Subject == "" {
		return sessionClaims{}, errors.New("read a token: it names nobody")
	}
	return claims, nil
}

func (s *Signer) key(token *jwt.Token) (any, error) {
	kid, _ := token.Header["kid"].(string)
	key, ok := s.public[kid]
	if !ok {
		return nil, errors.New("signed with a key that is not ours")
	}
	return key, nil
}
