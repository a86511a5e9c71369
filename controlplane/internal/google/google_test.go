package google_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/google/googletest"
	"modelgate.internal/shared/apierr"
)

const clientID = "client.apps.example"

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func setup(t *testing.T) (*google.Verifier, *googletest.Provider, *clock) {
	t.Helper()
	p, c := googletest.New(t), &clock{time.Now()}
	return google.New(google.Config{
		ClientID: clientID, Issuer: p.URL, JWKSURL: p.URL + "/keys", Client: &http.Client{Timeout: google.FetchTimeout}, Now: c.now,
	}), p, c
}

// claims are those of a good token, changed.
func claims(p *googletest.Provider, c *clock, change jwt.MapClaims) jwt.MapClaims {
	m := jwt.MapClaims{
		"iss": p.URL, "aud": clientID, "sub": "10769150350006150715113082367", "email": "ada@example.com", "email_verified": true, "name": "Ada",
		"nonce": "n-1", "iat": c.at.Unix(), "exp": c.at.Add(time.Hour).Unix(),
	}
	maps.Copy(m, change)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}

func TestAGoodTokenSaysWhoItIs(t *testing.T) {
	v, p, c := setup(t)
	for range 3 {
		who, err := v.Verify(t.Context(), p.Sign(t, "first", claims(p, c, nil)), "n-1")
		want := google.Identity{Subject: "10769150350006150715113082367", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}
		if err != nil || who != want {
			t.Fatalf("%+v, %v", who, err)
		}
	}
	if p.Fetches() != 1 {
		t.Errorf("the keys were fetched %d times", p.Fetches())
	}
}

func TestTokensThatAreNotForUs(t *testing.T) {
	v, p, c := setup(t)
	good := claims(p, c, nil)
	public, err := base64.RawURLEncoding.DecodeString("AQAB") // what an attacker knows
	if err != nil {
		t.Fatal(err)
	}
	for what, token := range map[string]string{
		"another audience":   p.Sign(t, "first", claims(p, c, jwt.MapClaims{"aud": "somebody else's"})),
		"another issuer":     p.Sign(t, "first", claims(p, c, jwt.MapClaims{"iss": "https://accounts.evil.example"})),
		"issuer less scheme": p.Sign(t, "first", claims(p, c, jwt.MapClaims{"iss": "accounts.google.com"})),
		"expired":            p.Sign(t, "first", claims(p, c, jwt.MapClaims{"exp": c.at.Add(-time.Minute).Unix()})),
		"no expiry":          p.Sign(t, "first", claims(p, c, jwt.MapClaims{"exp": nil})),
		"from the future":    p.Sign(t, "first", claims(p, c, jwt.MapClaims{"iat": c.at.Add(time.Hour).Unix()})),
		"another nonce":      p.Sign(t, "first", claims(p, c, jwt.MapClaims{"nonce": "n-2"})),
		"no nonce":           p.Sign(t, "first", claims(p, c, jwt.MapClaims{"nonce": nil})),
		"no subject":         p.Sign(t, "first", claims(p, c, jwt.MapClaims{"sub": nil})),
		"no address":         p.Sign(t, "first", claims(p, c, jwt.MapClaims{"email": nil})),
		"another key":        googletest.SignWith(t, jwt.SigningMethodRS256, googletest.Key(t), "first", good),
		"an unknown key":     googletest.SignWith(t, jwt.SigningMethodRS256, googletest.Key(t), "second", good),
		"another algorithm":  googletest.SignWith(t, jwt.SigningMethodRS512, googletest.Key(t), "first", good),
		"HMAC":               googletest.SignWith(t, jwt.SigningMethodHS256, public, "first", good),
		"no signature":       googletest.SignWith(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "first", good),
		"garbage":            "a.b.c",
	} {
		if _, err := v.Verify(t.Context(), token, "n-1"); !errors.Is(err, google.ErrBadToken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := v.Verify(t.Context(), p.Sign(t, "first", claims(p, c, jwt.MapClaims{"nonce": ""})), ""); !errors.Is(err, google.ErrBadToken) {
		t.Errorf("no nonce on either side: %v", err)
	}
}

func TestKeysAreReplaced(t *testing.T) {
	v, p, c := setup(t)
	old := p.Sign(t, "first", claims(p, c, nil))
	if _, err := v.Verify(t.Context(), old, "n-1"); err != nil {
		t.Fatal(err)
	}
	p.Replace(t, "second")
	fresh := p.Sign(t, "second", claims(p, c, nil))
	if _, err := v.Verify(t.Context(), fresh, "n-1"); !errors.Is(err, google.ErrBadToken) || p.Fetches() != 1 {
		t.Errorf("within a minute: %v, %d fetches", err, p.Fetches())
	}
	c.at = c.at.Add(google.RefetchEvery)
	for range 5 { // of which the unknown key is asked for once
		_, _ = v.Verify(t.Context(), googletest.SignWith(t, jwt.SigningMethodRS256, googletest.Key(t), "third", claims(p, c, nil)), "n-1")
	}
	if _, err := v.Verify(t.Context(), fresh, "n-1"); err != nil || p.Fetches() != 2 {
		t.Errorf("after a minute: %v, %d fetches", err, p.Fetches())
	}
	if _, err := v.Verify(t.Context(), old, "n-1"); !errors.Is(err, google.ErrBadToken) {
		t.Errorf("with the key that was withdrawn: %v", err)
	}
}

func TestKnownKeysOutliveAnOutage(t *testing.T) {
	v, p, c := setup(t)
	p.Break(true)
	token := p.Sign(t, "first", claims(p, c, nil))
	if _, err := v.Verify(t.Context(), token, "n-1"); apierr.From(err).Kind != apierr.BadGateway {
		t.Errorf("no key yet: %v", err)
	}
	p.Break(false)
	if _, err := v.Verify(t.Context(), token, "n-1"); err != nil {
		t.Errorf("the next one: %v", err)
	}
	p.Break(true)
	c.at = c.at.Add(20 * time.Minute) // past max-age
	if _, err := v.Verify(t.Context(), token, "n-1"); err != nil {
		t.Errorf("in an outage: %v", err)
	}
}

func TestNotConfigured(t *testing.T) {
	var none *google.Verifier
	for _, v := range []*google.Verifier{none, google.New(google.Config{})} {
		if _, err := v.Verify(t.Context(), "a.b.c", "n"); !errors.Is(err, google.ErrNotConfigured) {
			t.Errorf("got %v", err)
		}
	}
}
