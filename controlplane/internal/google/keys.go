package google

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
)

// keySet is a JWKS (RFC 7517), fetched when it is needed.
type keySet struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex // held while fetching: the others wait for the same keys
	keys  map[string]*rsa.PublicKey
	until time.Time // when keys are to be fetched again
	tried time.Time // when they last were
}

// key returns the key of an id. The error is a 502 when none are known and they cannot be fetched.
func (s *keySet) key(ctx context.Context, kid string) (*rsa.PublicKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	known, ok := s.keys[kid]
	if ok && now.Before(s.until) {
		return known, nil
	}
	if s.tried.IsZero() || now.Sub(s.tried) >= RefetchEvery {
		s.tried = now
		keys, keep, err := s.fetch(ctx)
		switch {
		case err == nil:
			s.keys, s.until = keys, now.Add(keep)
		case len(s.keys) == 0:
			s.tried = time.Time{} // nobody can sign in: the next one tries again
			return nil, apierr.New(apierr.BadGateway, "Google's keys cannot be fetched right now. Try again in a moment.").Because(err)
		}
		known, ok = s.keys[kid]
	}
	if !ok {
		return nil, errors.New("signed with a key that is not known")
	}
	return known, nil
}

func (s *keySet) fetch(ctx context.Context) (keys map[string]*rsa.PublicKey, keep time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FetchTimeout) // the keys are for everybody
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch keys: %w", err)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch keys: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("fetch keys: %s", res.Status)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, DocumentBytes))
	if err != nil {
		return nil, 0, fmt.Errorf("fetch keys: %w", err)
	}
	if keys, err = parseKeys(text); err != nil {
		return nil, 0, err
	}
	return keys, keepFor(res.Header.Get("Cache-Control")), nil
}

// parseKeys reads the RSA signature keys of a JWKS and skips all others.
func parseKeys(text []byte) (map[string]*rsa.PublicKey, error) {
	var document struct {
		Keys []struct{ Kty, Use, Alg, Kid, N, E string }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	keys := make(map[string]*rsa.PublicKey)
	for _, k := range document.Keys {
		n, err1 := base64.RawURLEncoding.DecodeString(k.N)
		e, err2 := base64.RawURLEncoding.DecodeString(k.E)
		if k.Kty != "RSA" || k.Kid == "" || k.Use != "" && k.Use != "sig" || k.Alg != "" && k.Alg != "RS256" ||
			err1 != nil || err2 != nil || len(e) > 4 || len(keys) >= KeysMax {
			continue
		}
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		if bits := key.N.BitLen(); bits < KeyBitsMin || bits > KeyBitsMax || key.E < 3 {
			continue
		}
		keys[k.Kid] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("read keys: there is none that can be used")
	}
	return keys, nil
}

// keepFor is how long an answer may be kept (RFC 9111, 5.2.2.1), within our bounds.
func keepFor(cacheControl string) time.Duration {
	for directive := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		if seconds, err := strconv.Atoi(strings.Trim(value, `"`)); strings.EqualFold(name, "max-age") && err == nil {
			return min(max(time.Duration(min(seconds, int(KeepMax/time.Second)))*time.Second, KeepMin), KeepMax)
		}
	}
	return KeepDefault
}
