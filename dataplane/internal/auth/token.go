package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
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
	caller   *call.Caller      // of a token that stands for no key; nil for the others
	expires  time.Time
	verifier *key.StreamVerifier // that accepted it; another one may know better
}

// isToken tells stream tokens from keys: they are JWTs, whose header is a JSON object in base64.
func isToken(text []byte) bool { return bytes.HasPrefix(text, []byte("eyJ")) }

// bearer returns the caller of a token: that of the key it stands for, or the one that it describes.
func (a *Auth) bearer(text []byte, now time.Time) (*call.Caller, error) {
	t, err := a.token(text, now)
	if err != nil {
		return nil, err
	}
	if t.caller != nil {
		return t.caller, nil
	}
	caller, err := a.caller(t.digest, now)
	return caller, asToken(err)
}

// token verifies a token. What verified is remembered for a while, under the SHA-256 of its text.
func (a *Auth) token(text []byte, now time.Time) (*token, error) {
	if a.streams == nil || len(text) > key.StreamBytesMax {
		return nil, ErrTokenMalformed
	}
	verifier := a.streams()
	if verifier == nil {
		return nil, ErrNoKeys
	}
	sum := sha256.Sum256(text)
	name := binary.BigEndian.Uint64(sum[:8])
	if t, ok := a.tokens.Get(name); ok && t.sum == sum && t.verifier == verifier {
		if !now.Before(t.expires) {
			return nil, ErrTokenExpired
		}
		return t, nil
	}
	said, err := verifier.Verify(text, now)
	switch {
	case errors.Is(err, key.ErrStreamExpired):
		return nil, ErrTokenExpired
	case errors.Is(err, key.ErrStreamSignature):
		return nil, ErrTokenSignature
	case err != nil:
		return nil, ErrTokenMalformed
	}
	t := &token{sum: sum, digest: said.Digest, expires: said.Expires, verifier: verifier}
	if said.Session != nil {
		if t.caller, err = a.session(said.Session); err != nil {
			return nil, err
		}
	}
	a.tokens.SetWithTTL(name, t, 1, min(t.expires.Sub(now), tokenCachedMax))
	return t, nil
}

// session returns the caller that a token describes. Nothing takes such a token back, so its calls end with themselves only.
func (a *Auth) session(text []byte) (*call.Caller, error) {
	var s plane.Session
	if err := json.Unmarshal(text, &s); err != nil || s.Principal.Kind != key.Portal || s.Principal.DeveloperID == "" {
		return nil, ErrTokenMalformed
	}
	s.Principal.Seen = s.Seen
	return &call.Caller{Principal: &s.Principal, Revoked: context.Background(), Cells: a.cells(&s.Principal)}, nil
}

// asToken says of a token what was said of its key.
func asToken(err error) error {
	if errors.Is(err, ErrUnknown) {
		return ErrTokenKey
	}
	return err
}
