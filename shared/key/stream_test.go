package key_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgate.internal/shared/key"
)

var streamNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newStreamSigner(t *testing.T, secrets ...string) *key.StreamSigner {
	t.Helper()
	list := make([][]byte, len(secrets))
	for i, s := range secrets {
		list[i] = []byte(strings.Repeat(s, 32))
	}
	s, err := key.NewStreamSigner(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStreamTokenStandsForItsKey(t *testing.T) {
	s := newStreamSigner(t, "a")
	digest := key.Hash("svc_test_something")
	text, err := s.Sign("key_1", digest, streamNoon)
	if err != nil || len(text) > key.StreamBytesMax {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	v := key.NewStreamVerifier(s.Public())
	got, err := v.Verify([]byte(text), streamNoon.Add(key.StreamLife-time.Second))
	if err != nil || got.KeyID != "key_1" || got.Digest != digest || !got.Expires.Equal(streamNoon.Add(key.StreamLife)) {
		t.Errorf("got %+v, %v", got, err)
	}
	again, err := s.Sign("key_1", digest, streamNoon)
	if err != nil || again == text {
		t.Errorf("two tokens are the same (%v)", err)
	}
}

func TestWhatIsNoStreamToken(t *testing.T) {
	s := newStreamSigner(t, "a")
	text, err := s.Sign("key_1", key.Hash("k"), streamNoon)
	if err != nil {
		t.Fatal(err)
	}
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	public := map[string][]byte{"mine": private.Public().(ed25519.PublicKey)} //nolint:forcetypeassert // documented
	maps.Copy(public, s.Public())
	signed := func(method jwt.SigningMethod, with any, claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "mine"
		text, err := token.SignedString(with)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	claims := func(change func(c jwt.MapClaims)) jwt.MapClaims {
		c := jwt.MapClaims{
			"iss": "modelgate", "aud": "modelgate-gateway", "sub": "key_1", "exp": streamNoon.Add(time.Minute).Unix(), "kh": strings.Repeat("ab", 32),
		}
		change(c)
		return c
	}
	mine := func(change func(c jwt.MapClaims)) string {
		return signed(jwt.SigningMethodEdDSA, private, claims(change))
	}
	as := func(c jwt.MapClaims) {}
	parts := strings.Split(text, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"mine"}`))
	v := key.NewStreamVerifier(public)
	if _, err := v.Verify([]byte(mine(as)), streamNoon); err != nil {
		t.Fatalf("one signed by the test: %v", err)
	}
	for name, tt := range map[string]struct {
		text string
		now  time.Time
		want error
	}{
		"empty":                {"", streamNoon, key.ErrStreamMalformed},
		"two parts":            {parts[0] + "." + parts[1], streamNoon, key.ErrStreamMalformed},
		"too long":             {text + strings.Repeat("A", key.StreamBytesMax), streamNoon, key.ErrStreamMalformed},
		"expired":              {text, streamNoon.Add(key.StreamLife), key.ErrStreamExpired},
		"another signature":    {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), streamNoon, key.ErrStreamSignature},
		"other claims":         {parts[0] + "." + strings.Split(mine(as), ".")[1] + "." + parts[2], streamNoon, key.ErrStreamSignature},
		"no algorithm":         {none + "." + parts[1] + ".", streamNoon, key.ErrStreamSignature},
		"a symmetric one":      {signed(jwt.SigningMethodHS256, public["mine"], claims(as)), streamNoon, key.ErrStreamSignature},
		"expired and unsigned": {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), streamNoon.Add(time.Hour), key.ErrStreamSignature},
		"another issuer":       {mine(func(c jwt.MapClaims) { c["iss"] = "somebody" }), streamNoon, key.ErrStreamMalformed},
		"a session":            {mine(func(c jwt.MapClaims) { c["aud"] = "modelgate-portal" }), streamNoon, key.ErrStreamMalformed},
		"no end":               {mine(func(c jwt.MapClaims) { delete(c, "exp") }), streamNoon, key.ErrStreamMalformed},
		"no key":               {mine(func(c jwt.MapClaims) { delete(c, "kh") }), streamNoon, key.ErrStreamMalformed},
		"half a digest":        {mine(func(c jwt.MapClaims) { c["kh"] = "abab" }), streamNoon, key.ErrStreamMalformed},
	} {
		if got, err := v.Verify([]byte(tt.text), tt.now); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A secret is replaced in two steps, and at each of them what was signed before is accepted.
func TestStreamSecretsCanBeReplaced(t *testing.T) {
	steps := []*key.StreamSigner{newStreamSigner(t, "a"), newStreamSigner(t, "a", "b"), newStreamSigner(t, "b", "a"), newStreamSigner(t, "b")}
	for i, s := range steps {
		text, err := s.Sign("key_1", key.Hash("k"), streamNoon)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range steps {
			_, err := key.NewStreamVerifier(other.Public()).Verify([]byte(text), streamNoon)
			if near := j-i >= -1 && j-i <= 1; near && err != nil {
				t.Errorf("signed at step %d, read at step %d: %v", i, j, err)
			}
		}
	}
	old, _ := steps[0].Sign("key_1", key.Hash("k"), streamNoon)
	if _, err := key.NewStreamVerifier(steps[3].Public()).Verify([]byte(old), streamNoon); !errors.Is(err, key.ErrStreamSignature) {
		t.Errorf("one of a removed secret: %v", err)
	}
	if _, err := key.NewStreamSigner(nil); err == nil {
		t.Error("a signer without a secret")
	}
	if got := key.NewStreamVerifier(map[string][]byte{"short": {1, 2, 3}}); got == nil {
		t.Error("a key that is none breaks the verifier")
	}
}
