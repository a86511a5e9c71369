package account_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/google/googletest"
	"modelgate.internal/shared/apierr"
)

// withGoogle makes accounts that take tokens of a provider on loopback; token makes one.
func withGoogle(t *testing.T) (a *account.Accounts, p *post, token func(subject, email string, verified bool) string) {
	t.Helper()
	a, p, c := withMail(t)
	provider := googletest.New(t)
	a.Google = google.New(google.Config{
		ClientID: "client", Issuer: provider.URL, JWKSURL: provider.URL + "/keys", Client: &http.Client{Timeout: google.FetchTimeout}, Now: c.now,
	})
	return a, p, func(subject, email string, verified bool) string {
		return provider.Sign(t, "first", jwt.MapClaims{
			"iss": provider.URL, "aud": "client", "sub": subject, "email": email, "email_verified": verified, "name": "Ada L.", "nonce": "n",
			"iat": c.now().Unix(), "exp": c.now().Add(time.Hour).Unix(),
		})
	}
}

func TestTheFirstSignInWithGoogleCreatesTheAccount(t *testing.T) {
	a, _, token := withGoogle(t)
	first, err := a.LoginGoogle(t.Context(), token("sub-1", "Ada@Example.com", true), "n", client)
	if err != nil || first.Developer.Email != "ada@example.com" || first.Developer.Name != "Ada L." || first.Developer.VerifiedAt == nil {
		t.Fatalf("%+v, %v", first.Developer, err)
	}
	if _, err := a.Authenticate(t.Context(), first.Token); err != nil {
		t.Error(err)
	}
	again, err := a.LoginGoogle(t.Context(), token("sub-1", "new-address@example.com", true), "n", client)
	if err != nil || again.Developer.ID != first.Developer.ID {
		t.Errorf("the same person with a new address: %+v, %v", again.Developer, err)
	}
	for _, password := range []string{"", "correct horse battery"} {
		if _, err := a.Login(t.Context(), "ada@example.com", password, client); !errors.Is(err, account.ErrWrongLogin) {
			t.Errorf("with the password %q, which the account does not have: %v", password, err)
		}
	}
}

func TestAnUnconfirmedAccountIsNotTakenOver(t *testing.T) {
	a, p, token := withGoogle(t)
	mine := register(t, a)
	verify := p.token(t)
	if _, err := a.LoginGoogle(t.Context(), token("sub-1", "ada@example.com", true), "n", client); !errors.Is(err, account.ErrGoogleUnverified) {
		t.Errorf("before the address is confirmed: %v", err)
	}
	if err := a.VerifyEmail(t.Context(), verify, client); err != nil {
		t.Fatal(err)
	}
	if g, err := a.LoginGoogle(t.Context(), token("sub-1", "ada@example.com", true), "n", client); err != nil || g.Developer.ID != mine.Developer.ID {
		t.Errorf("after it: %+v, %v", g.Developer, err)
	}
	if _, err := a.LoginGoogle(t.Context(), token("sub-2", "ada@example.com", true), "n", client); !errors.Is(err, account.ErrGoogleOther) {
		t.Errorf("another account at Google with the address: %v", err)
	}
}

func TestAnAddressThatGoogleDidNotConfirm(t *testing.T) {
	a, _, token := withGoogle(t)
	if _, err := a.LoginGoogle(t.Context(), token("sub-1", "ada@example.com", false), "n", client); apierr.From(err).Kind != apierr.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestManyFirstSignInsCreateOneAccount(t *testing.T) {
	a, _, token := withGoogle(t)
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		ids = map[string]bool{}
	)
	text := token("sub-1", "ada@example.com", true)
	for range 8 {
		all.Go(func() {
			g, err := a.LoginGoogle(t.Context(), text, "n", client)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[g.Developer.ID] = true
		})
	}
	all.Wait()
	if len(ids) != 1 {
		t.Errorf("%d accounts", len(ids))
	}
}
