package key

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// StreamLife is how long a stream token is accepted. A stream that began with it may take longer.
const StreamLife = 5 * time.Minute

// SessionLife is how long a token is accepted that says itself what it may do. It is made for one call, and nothing can take it back.
const SessionLife = time.Minute

// StreamBytesMax bounds the text of a token.
const StreamBytesMax = 2 << 10

// Names in stream tokens. The audience keeps them apart from the portal's sessions.
const (
	streamIssuer   = "modelgate"
	streamAudience = "modelgate-gateway"
)

// What is wrong with a stream token.
var (
	ErrStreamExpired   = errors.New("stream token has expired")
	ErrStreamSignature = errors.New("stream token is not signed by a key in force")
	ErrStreamMalformed = errors.New("not a stream token")
)

// streamClaims are those of RFC 7519 with the key in sub, and the digest by which nodes look the key up. The digest opens
// nothing: it is of 256 random bits. A token that stands for no key has what it may do in the place of the digest.
type streamClaims struct {
	jwt.RegisteredClaims
	Digest  string          `json:"kh,omitempty"`
	Session json.RawMessage `json:"session,omitempty"`
}

// StreamSigner signs stream tokens: JWTs (RFC 7519) under Ed25519 (RFC 8037) that stand for a key. It is immutable.
type StreamSigner struct {
	kid     string
	private ed25519.PrivateKey
	public  map[string][]byte
}

// NewStreamSigner derives a key pair from each secret and signs with the first. Nodes accept what any of them signed, so that
// a secret can be replaced: the new one is added behind the old one, then in its place.
func NewStreamSigner(secrets [][]byte) (*StreamSigner, error) {
	s := &StreamSigner{public: make(map[string][]byte, len(secrets))}
	for _, secret := range secrets {
		seed, err := hkdf.Key(sha256.New, secret, nil, "modelgate stream tokens", ed25519.SeedSize)
		if err != nil {
			return nil, fmt.Errorf("derive the key of stream tokens: %w", err)
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
		return nil, errors.New("derive the key of stream tokens: there is no secret")
	}
	return s, nil
}

// Public returns the public keys by their ids, for the nodes.
func (s *StreamSigner) Public() map[string][]byte { return s.public }

// Sign returns a token that stands for a key until StreamLife has passed.
func (s *StreamSigner) Sign(keyID string, digest Digest, now time.Time) (string, error) {
	return s.sign(keyID, now, StreamLife, streamClaims{Digest: hex.EncodeToString(digest[:])})
}

// SignSession returns a token that says itself, in the JSON of session, who calls and what they may do, until SessionLife has passed.
func (s *StreamSigner) SignSession(subject string, session []byte, now time.Time) (string, error) {
	return s.sign(subject, now, SessionLife, streamClaims{Session: session})
}

func (s *StreamSigner) sign(subject string, now time.Time, life time.Duration, claims streamClaims) (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("sign a stream token: %w", err)
	}
	claims.RegisteredClaims = jwt.RegisteredClaims{
		Issuer: streamIssuer, Audience: jwt.ClaimStrings{streamAudience}, Subject: subject, ID: hex.EncodeToString(id[:]),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(life)),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = s.kid
	text, err := token.SignedString(s.private)
	if err != nil {
		return "", fmt.Errorf("sign a stream token: %w", err)
	}
	return text, nil
}

// StreamToken is what a token says.
type StreamToken struct {
	KeyID   string
	Digest  Digest // of the key that it stands for; zero when Session is set
	Session []byte // JSON of what it may do, of a token that stands for no key; else nil
	Expires time.Time
}

// StreamVerifier reads stream tokens. It is immutable.
type StreamVerifier struct{ public map[string]ed25519.PublicKey }

// NewStreamVerifier returns a verifier of what the public keys signed. Keys of another length are left out.
func NewStreamVerifier(public map[string][]byte) *StreamVerifier {
	v := &StreamVerifier{make(map[string]ed25519.PublicKey, len(public))}
	for kid, key := range public {
		if len(key) == ed25519.PublicKeySize {
			v.public[kid] = key
		}
	}
	return v
}

// Verify reads a token. The error is ErrStreamMalformed, ErrStreamSignature or, for a token that was good, ErrStreamExpired.
// Verifying takes some 80 microseconds.
func (v *StreamVerifier) Verify(text []byte, now time.Time) (StreamToken, error) {
	if len(text) > StreamBytesMax {
		return StreamToken{}, ErrStreamMalformed
	}
	var claims streamClaims
	_, err := jwt.ParseWithClaims(string(text), &claims, v.key,
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(streamIssuer), jwt.WithAudience(streamAudience),
		jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(func() time.Time { return now }))
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
		return StreamToken{}, ErrStreamSignature
	case errors.Is(err, jwt.ErrTokenExpired):
		return StreamToken{}, ErrStreamExpired
	case err != nil:
		return StreamToken{}, ErrStreamMalformed
	}
	t := StreamToken{KeyID: claims.Subject, Expires: claims.ExpiresAt.Time, Session: claims.Session}
	if len(claims.Session) > 0 {
		if claims.Digest != "" {
			return StreamToken{}, ErrStreamMalformed
		}
		return t, nil
	}
	if n, err := hex.Decode(t.Digest[:], []byte(claims.Digest[:min(len(claims.Digest), 2*len(t.Digest))])); err != nil || n != len(t.Digest) {
		return StreamToken{}, ErrStreamMalformed
	}
	return t, nil
}

func (v *StreamVerifier) key(token *jwt.Token) (any, error) {
	kid, _ := token.Header["kid"].(string)
	key, ok := v.public[kid]
	if !ok {
		return nil, ErrStreamSignature
	}
	return key, nil
}
