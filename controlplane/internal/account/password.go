package account

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/alexedwards/argon2id"

	"modelgate.internal/shared/apierr"
)

// Cost is how expensive a password hash is.
type Cost struct {
	MemoryKiB  uint32
	Iterations uint32
}

// DefaultCost is OWASP's first choice for argon2id (password storage cheat sheet): 19 MiB, two passes, one lane.
func DefaultCost() Cost { return Cost{MemoryKiB: 19 * 1024, Iterations: 2} }

// Passwords hashes and compares passwords, as many at a time as there are cores. However many sign-ins come at once, the heap
// grows by HashHeapFactor times cores times the memory of a hash at most: 152 MiB on two cores at the default cost.
type Passwords struct {
	params argon2id.Params
	slots  chan struct{}
	dummy  string // hash of a password nobody has, at the same cost
}

// NewPasswords returns a Passwords with the given cost.
func NewPasswords(cost Cost) (*Passwords, error) {
	p := &Passwords{
		params: argon2id.Params{
			Memory: cost.MemoryKiB, Iterations: cost.Iterations, Parallelism: 1, SaltLength: 16, KeyLength: 32,
		},
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	dummy, err := argon2id.CreateHash("", &p.params)
	if err != nil {
		return nil, fmt.Errorf("prepare password hashing: %w", err)
	}
	p.dummy = dummy
	return p, nil
}

// Hash returns the hash of a password. It waits for a free core; the error is a 503 when ctx ends first.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.enter(ctx); err != nil {
		return "", err
	}
	defer p.leave()
	hash, err := argon2id.CreateHash(password, &p.params)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// Compare reports whether hash is the hash of password, and whether it was made cheaper than hashes are made now. With an
// empty hash it takes as long and says no. It waits as Hash does.
func (p *Passwords) Compare(ctx context.Context, password, hash string) (match, weak bool, err error) {
	if err := p.enter(ctx); err != nil {
		return false, false, err
	}
	defer p.leave()
	known := hash != ""
	if !known {
		hash = p.dummy
	}
	match, params, err := argon2id.CheckHash(password, hash)
	if err != nil {
		return false, false, fmt.Errorf("compare a password: %w", err)
	}
	weak = params.Memory < p.params.Memory || params.Iterations < p.params.Iterations
	return match && known, weak, nil
}

func (p *Passwords) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return apierr.New(apierr.Unavailable, "Too many people are signing in. Try again in a moment.").
			After(ThrottlePauseMin).Because(ctx.Err())
	}
}

func (p *Passwords) leave() { <-p.slots }

// checkPassword returns a 422 for a password that anyone would try first; field is where it stands in the body. Its length is
// checked where it comes in.
func checkPassword(field, password, name, email string) error {
	var reason string
	lower := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	switch {
	case commonPassword(lower):
		reason = "This password is among the most common ones."
	case lower == email, lower == local, lower == strings.ToLower(name):
		reason = "The password must not be your name or e-mail address."
	case strings.Trim(password, string([]rune(password)[:1])) == "":
		reason = "The password is one character repeated."
	default:
		return nil
	}
	return apierr.Violations(apierr.Item{
		Type: "value_error", Loc: []any{"body", field}, Msg: "Value error, " + reason,
		Input: "**********", Ctx: map[string]any{"error": reason},
	})
}

// commonPassword knows the most used passwords of at least PasswordRunesMin characters, after the yearly public lists.
func commonPassword(lower string) bool {
	switch lower {
	case "12345678", "123456789", "1234567890", "0123456789", "87654321", "987654321", "0987654321", "11223344",
		"123123123", "12341234", "11111111", "00000000", "88888888", "147258369", "1q2w3e4r", "1q2w3e4r5t", "1qaz2wsx",
		"q1w2e3r4", "zaq12wsx", "qwertyui", "qwertyuiop", "qwerty12", "qwerty123", "qwerty1234", "asdfghjk", "asdfghjkl",
		"zxcvbnm1", "abcd1234", "abc12345", "a1b2c3d4", "aa123456", "password", "password1", "password12", "password123",
		"password1234", "passw0rd", "p@ssw0rd", "p@ssword", "passwort", "pass1234", "passpass", "changeme", "changeme1",
		"letmein1", "letmein123", "welcome1", "welcome123", "iloveyou", "iloveyou1", "sunshine", "princess", "football",
		"baseball", "superman", "starwars", "whatever", "computer", "michelle", "jennifer", "trustno1", "dragon123",
		"monkey123", "admin123", "admin1234", "administrator", "administrateur", "secret123", "test1234", "testtest",
		"default1", "internet", "samsung1", "corvette", "mercedes", "master123", "shadow123", "hello123", "guest123":
		return true
	}
	return false
}
