package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
)

// The refusals of stream tokens.
var (
	ErrTokenMalformed = apierr.New(apierr.Unauthorized,
		"This is not a stream token of Modelgate. Get one from /dev/config/stream-key of the portal, or send an API key.")
	ErrTokenSignature = apierr.New(apierr.Unauthorized,
		"The signature of this stream token is not valid. Get a new one from /dev/config/stream-key of the portal.")
	ErrTokenExpired = apierr.New(apierr.Unauthorized,
		"This stream token has expired. Get a new one from /dev/config/stream-key of the portal.")
	ErrTokenKey = apierr.New(apierr.Unauthorized, "The API key that this stream token stands for is unknown or revoked.")
)

// token is a stream token that was verified.
type token struct {
	sum      [sha256.Size]byte // of its text
	digest   key.Digest        // of the key that it stands for
	expires  time.Time
	verifier *key.StreamVerifier // that accepted it; another one may know better
}

// isToken tells stream tokens from keys: they are JWTs, whose header is a JSON object in base64.
func isToken(text []byte) bool { return bytes.HasPrefix(text, []byte("eyJ")) }

// tokenDigest returns the digest of the key that a stream token stands for. What verified is remembered for a while, under the
// SHA-256 of its text.
func (a *Auth) tokenDigest(text []byte, now time.Time) (digest key.Digest, err error) {
	if a.streams == nil || len(text) > key.StreamBytesMax {
		return digest, ErrTokenMalformed
	}
	verifier := a.streams()
	if verifier == nil {
		return digest, ErrNoKeys
	}
	sum := sha256.Sum256(text)
	name := binary.BigEndian.Uint64(sum[:8])
	if t, ok := a.tokens.Get(name); ok && t.sum == sum && t.verifier == verifier {
		if !now.Before(t.expires) {
			return digest, ErrTokenExpired
		}
		return t.digest, nil
	}
	t, err := verifier.Verify(text, now)
	switch {
	case errors.Is(err, key.ErrStreamExpired):
		return digest, ErrTokenExpired
	case errors.Is(err, key.ErrStreamSignature):
		return digest, ErrTokenSignature
	case err != nil:
		return digest, ErrTokenMalformed
	}
	a.tokens.SetWithTTL(name, &token{sum, t.Digest, t.Expires, verifier}, 1, min(t.Expires.Sub(now), tokenCachedMax))
	return t.Digest, nil
}

// asToken says of a token what was said of its key.
func asToken(err error) error {
	if errors.Is(err, ErrUnknown) {
		return ErrTokenKey
	}
	return err
}
