package account_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
)

// memory is a store in memory that counts the questions about sessions.
type memory struct {
	account.Store // what the tests of the memory do not ask for

	mu       sync.Mutex
	people   map[string]account.Credentials // by mail
	sessions map[string]account.Session
	asked    int
	broken   error
	locked   []string // whose locks were recorded
}

func (m *memory) RecordLock(_ context.Context, developerID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = append(m.locked, developerID)
	return nil
}

func newMemory() *memory {
	return &memory{people: make(map[string]account.Credentials), sessions: make(map[string]account.Session)}
}

func (m *memory) CreateDeveloper(_ context.Context, c account.Credentials, _ ...account.MailedLink) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.people[c.Email]; ok {
		return account.ErrEmailTaken
	}
	m.people[c.Email] = c
	return nil
}

func (m *memory) CredentialsByEmail(_ context.Context, email string) (account.Credentials, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.people[email]
	if m.broken != nil {
		return account.Credentials{}, m.broken
	}
	if !ok {
		return account.Credentials{}, account.ErrNoDeveloper
	}
	return c, nil
}

func (m *memory) Developer(_ context.Context, id string) (account.Developer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.people {
		if c.ID == id {
			return c.Developer, nil
		}
	}
	return account.Developer{}, account.ErrNoDeveloper
}

func (m *memory) SetPasswordHash(_ context.Context, id, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for email, c := range m.people {
		if c.ID == id {
			c.PasswordHash = hash
			m.people[email] = c
		}
	}
	return nil
}

func (m *memory) ChangeDeveloper(_ context.Context, email string, c account.Change, now time.Time) (account.Developer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.people[email]
	if !ok {
		return account.Developer{}, account.ErrNoDeveloper
	}
	found.Developer = c.Apply(found.Developer, now)
	m.people[email] = found
	return found.Developer, nil
}

func (m *memory) CreateSession(_ context.Context, s account.Session, _ []byte, _ int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions[s.ID] = s
	return nil
}

func (m *memory) Session(_ context.Context, id string) (account.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	s, ok := m.sessions[id]
	if !ok {
		return account.Session{}, account.ErrNoSession
	}
	return s, nil
}

func (*memory) TOTP(context.Context, string) (account.TOTP, error) { return account.TOTP{}, nil }

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

func (c *clock) pass(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.t = c.t.Add(d) }

var cheap = account.Cost{MemoryKiB: 64, Iterations: 1}

func setup(t *testing.T) (*account.Accounts, *memory, *clock) {
	t.Helper()
	passwords, err := account.NewPasswords(cheap)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := account.NewSigner([][]byte{make([]byte, ed25519.SeedSize)})
	if err != nil {
		t.Fatal(err)
	}
	m, c := newMemory(), &clock{t: time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)}
	return &account.Accounts{
		Store: m, Passwords: passwords, Signer: signer, Throttle: account.NewThrottle(c.now), Log: slog.New(slog.DiscardHandler), Now: c.now,
	}, m, c
}

func register(t *testing.T, a *account.Accounts) account.Grant {
	t.Helper()
	g, err := a.Register(t.Context(), "Ada", "Ada@Example.com", "correct horse battery", account.Client{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestASessionIsCheckedAtMostEveryFiveSeconds(t *testing.T) {
	a, m, c := setup(t)
	g := register(t, a)
	for range 3 {
		if who, err := a.Authenticate(t.Context(), g.Token); err != nil || who.DeveloperID != g.Developer.ID || who.SessionID != g.Session.ID {
			t.Fatalf("%+v %v", who, err)
		}
	}
	if m.asked != 1 {
		t.Errorf("asked %d times within five seconds", m.asked)
	}
	delete(m.sessions, g.Session.ID)
	c.pass(account.SessionCacheTTL - time.Millisecond)
	if _, err := a.Authenticate(t.Context(), g.Token); err != nil {
		t.Errorf("within the five seconds: %v", err)
	}
	c.pass(time.Millisecond)
	if _, err := a.Authenticate(t.Context(), g.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("an ended session after five seconds: %v", err)
	}
}

func TestATokenEnds(t *testing.T) {
	a, _, c := setup(t)
	g := register(t, a)
	c.pass(account.TokenTTL - time.Second)
	if _, err := a.Authenticate(t.Context(), g.Token); err != nil {
		t.Errorf("before its end: %v", err)
	}
	c.pass(2 * time.Second) // still remembered as valid
	if _, err := a.Authenticate(t.Context(), g.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("after its end: %v", err)
	}
}

func TestTokensThatAreNotOurs(t *testing.T) {
	a, _, c := setup(t)
	g := register(t, a)
	ours := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	claims := func(change func(jwt.MapClaims)) jwt.MapClaims {
		m := jwt.MapClaims{
			"iss": "modelgate", "aud": "modelgate-portal", "sub": g.Developer.ID, "sid": g.Session.ID,
			"iat": c.now().Unix(), "exp": c.now().Add(time.Hour).Unix(),
		}
		change(m)
		return m
	}
	sign := func(method jwt.SigningMethod, key any, m jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, m)
		parsed, _, err := jwt.NewParser().ParseUnverified(g.Token, jwt.MapClaims{})
		if err != nil {
			t.Fatal(err)
		}
		token.Header["kid"] = parsed.Header["kid"]
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := a.Authenticate(t.Context(), sign(jwt.SigningMethodEdDSA, ours, claims(func(jwt.MapClaims) {}))); err != nil {
		t.Fatalf("the token that the others differ from: %v", err)
	}
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
	for what, token := range map[string]string{
		"another key":              sign(jwt.SigningMethodEdDSA, other, claims(func(jwt.MapClaims) {})),
		"another audience":         sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { m["aud"] = "modelgate-gateway" })),
		"another issuer":           sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { m["iss"] = "someone" })),
		"no expiry":                sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { delete(m, "exp") })),
		"expired":                  sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { m["exp"] = c.now().Unix() - 1 })),
		"no session":               sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { delete(m, "sid") })),
		"another developer":        sign(jwt.SigningMethodEdDSA, ours, claims(func(m jwt.MapClaims) { m["sub"] = "bob" })),
		"HMAC with the public key": sign(jwt.SigningMethodHS256, []byte(ours.Public().(ed25519.PublicKey)), claims(func(jwt.MapClaims) {})),
		"no signature":             sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(func(jwt.MapClaims) {})),
		"long":                     strings.Repeat("a", account.TokenBytesMax+1),
		"garbage":                  "a.b.c",
	} {
		if _, err := a.Authenticate(t.Context(), token); apierr.From(err) == nil || apierr.From(err).Kind != apierr.Unauthorized {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSigningKeysCanBeReplaced(t *testing.T) {
	oldSeed, newSeed := make([]byte, ed25519.SeedSize), []byte(strings.Repeat("n", ed25519.SeedSize))
	now := time.Now()
	s := account.Session{ID: "s", DeveloperID: "d", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	before, err := account.NewSigner([][]byte{oldSeed})
	if err != nil {
		t.Fatal(err)
	}
	both, err := account.NewSigner([][]byte{newSeed, oldSeed})
	if err != nil {
		t.Fatal(err)
	}
	after, err := account.NewSigner([][]byte{newSeed})
	if err != nil {
		t.Fatal(err)
	}
	token, err := before.Sign(s, s.CreatedAt, s.ExpiresAt)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := both.Read(token, now); err != nil {
		t.Errorf("while both are in force: %v", err)
	}
	if _, _, err := after.Read(token, now); err == nil {
		t.Error("accepted after the old key was removed")
	}
}

func TestAWeakHashIsReplacedAtSignIn(t *testing.T) {
	a, m, _ := setup(t)
	register(t, a)
	weak := m.people["ada@example.com"].PasswordHash
	stronger, err := account.NewPasswords(account.Cost{MemoryKiB: 128, Iterations: 2})
	if err != nil {
		t.Fatal(err)
	}
	a.Passwords = stronger
	for range 2 {
		if _, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", account.Client{Address: "192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
	}
	if now := m.people["ada@example.com"].PasswordHash; now == weak || !strings.Contains(now, "m=128,t=2") {
		t.Errorf("the hash is %s", now)
	}
}

func TestAnUnknownAddressCostsAHashToo(t *testing.T) {
	p, err := account.NewPasswords(cheap)
	if err != nil {
		t.Fatal(err)
	}
	if match, _, err := p.Compare(t.Context(), "", ""); match || err != nil { // the password of the stand-in hash
		t.Errorf("matched %v, %v", match, err)
	}
}

func TestHashingWaitsForACore(t *testing.T) {
	p, err := account.NewPasswords(cheap)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // an ended context may still get a free core; it must never hang or panic
		if _, err := p.Hash(ended, "x"); err != nil && apierr.From(err).Kind != apierr.Unavailable {
			t.Fatal(err)
		}
	}
}

// TestAStormOfSignInsStaysWithinItsMemory holds what the documentation of Passwords promises, at the cost of production.
func TestAStormOfSignInsStaysWithinItsMemory(t *testing.T) {
	cost := account.DefaultCost()
	p, err := account.NewPasswords(cost)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	stop, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most = max(most, heap())
			}
		}
	}()
	var storm sync.WaitGroup
	for range 12 * runtime.GOMAXPROCS(0) {
		storm.Go(func() {
			if _, _, err := p.Compare(context.WithoutCancel(t.Context()), "a password", ""); err != nil {
				t.Error(err)
			}
		})
	}
	storm.Wait()
	close(stop)
	<-sampled
	hash := uint64(cost.MemoryKiB) << 10
	limit := account.HashHeapFactor * hash * uint64(runtime.GOMAXPROCS(0))
	t.Logf("the heap grew by %d MiB, %d MiB are promised", (most-before)>>20, limit>>20)
	if most < before+hash || most > before+limit {
		t.Errorf("the heap grew by %d bytes, promised are at most %d", most-before, limit)
	}
}

func TestPasswordsThatAnyoneWouldTry(t *testing.T) {
	a, _, _ := setup(t)
	for _, password := range []string{"Password1", "aaaaaaaaaa", "ada@example.com", "Ada Lovelace", "ääääääää"} {
		_, err := a.Create(t.Context(), "Ada Lovelace", "ada@example.com", password)
		e := apierr.From(err)
		if e == nil || e.Kind != apierr.Invalid || e.Items[0].Input != "**********" {
			t.Errorf("%q: %v", password, err)
		}
	}
	if _, err := a.Create(t.Context(), "Ada Lovelace", "ada@example.com", "ääääääää!"); err != nil {
		t.Error(err)
	}
}

func TestOperatorsMistakes(t *testing.T) {
	a, _, _ := setup(t)
	register(t, a)
	gold, minus := "gold", int64(-1)
	for what, c := range map[string]account.Change{"plan": {Plan: &gold}, "limit": {PerDay: &minus}} {
		if _, err := a.Set(t.Context(), "ada@example.com", c); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	if _, err := a.Set(t.Context(), "bob@example.com", account.Change{}); !errors.Is(err, account.ErrNoDeveloper) {
		t.Errorf("got %v", err)
	}
}
