// Package googletest is an identity provider for tests: real RSA keys, a real JWKS over HTTP, tokens signed as asked. It is
// imported by tests only. A Provider may be used from any number of goroutines.
package googletest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Provider is an identity provider on loopback.
type Provider struct {
	URL string // issuer; the keys are at URL/keys

	mu      sync.Mutex
	keys    map[string]*rsa.PrivateKey
	cache   string
	broken  bool
	fetches int
}

// New returns a Provider with one key, "first".
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{keys: map[string]*rsa.PrivateKey{"first": Key(t)}, cache: "public, max-age=600"}
	s := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Key makes a key.
func Key(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (p *Provider) serve(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetches++
	if p.broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	keys := []map[string]string{{"kty": "EC", "kid": "other"}}
	for kid, k := range p.keys {
		keys = append(keys, map[string]string{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": kid, "n": base64.RawURLEncoding.EncodeToString(k.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(k.E)).Bytes()),
		})
	}
	w.Header().Set("Cache-Control", p.cache)
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys}) // fails when the reader has gone
}

// Replace makes kid the only key.
func (p *Provider) Replace(t testing.TB, kid string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = map[string]*rsa.PrivateKey{kid: Key(t)}
}

// Break makes the keys unavailable, or available again.
func (p *Provider) Break(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// Fetches is how often the keys were asked for.
func (p *Provider) Fetches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

// Sign returns a token signed with the key kid.
func (p *Provider) Sign(t testing.TB, kid string, claims jwt.MapClaims) string {
	t.Helper()
	p.mu.Lock()
	key := p.keys[kid]
	p.mu.Unlock()
	return SignWith(t, jwt.SigningMethodRS256, key, kid, claims)
}

// SignWith returns a token signed with any key.
func SignWith(t testing.TB, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
