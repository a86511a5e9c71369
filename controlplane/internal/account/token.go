package account

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Names in session tokens.
const (
	tokenIssuer   = "modelgate"
	tokenAudience = "modelgate-portal"
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

// Sign returns the token of a session.
func (s *Signer) Sign(session Session) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: tokenIssuer, Audience: jwt.ClaimStrings{tokenAudience}, Subject: session.DeveloperID,
			IssuedAt: jwt.NewNumericDate(session.CreatedAt), ExpiresAt: jwt.NewNumericDate(session.ExpiresAt),
		},
		SessionID: session.ID,
	})
	token.Header["kid"] = s.kid
	text, err := token.SignedString(s.private)
	if err != nil {
		return "", fmt.Errorf("sign a session token: %w", err)
	}
	return text, nil
}

// Read returns the session and the developer that a token names, if it is ours, for the portal and not expired.
func (s *Signer) Read(text string, now time.Time) (sessionID, developerID string, err error) {
	if len(text) > TokenBytesMax {
		return "", "", errors.New("read a session token: it is too long")
	}
	var claims sessionClaims
	_, err = jwt.ParseWithClaims(text, &claims, s.key,
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(tokenIssuer), jwt.WithAudience(tokenAudience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		return "", "", fmt.Errorf("read a session token: %w", err)
	}
	if claims.SessionID == "" || claims.Subject == "" {
		return "", "", errors.New("read a session token: it names no session")
	}
	return claims.SessionID, claims.Subject, nil
}

func (s *Signer) key(token *jwt.Token) (any, error) {
	kid, _ := token.Header["kid"].(string)
	key, ok := s.public[kid]
	if !ok {
		return nil, errors.New("signed with a key that is not ours")
	}
	return key, nil
}
