package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
)

// TOTP is the second factor of a developer.
type TOTP struct {
	Set               bool // there is one, perhaps not confirmed yet
	Confirmed         bool // it is asked for
	RecoveryCodesLeft int64
	Sealed            secret.Sealed
}

// TOTPStore is what second factors ask of storage.
type TOTPStore interface {
	// TOTP returns the zero value if there is none.
	TOTP(ctx context.Context, developerID string) (TOTP, error)
	// BeginTOTP replaces a factor that is not confirmed. Error: ErrTOTPOn.
	BeginTOTP(ctx context.Context, developerID string, sealed secret.Sealed, now time.Time) error
	// ConfirmTOTP turns the factor on, uses the step up and replaces the recovery codes, given as hashes. Error: ErrWrongCode.
	ConfirmTOTP(ctx context.Context, developerID string, step int64, codes [][]byte, now time.Time) error
	// UseTOTPStep uses a step up; false if it or a later one was used before.
	UseTOTPStep(ctx context.Context, developerID string, step int64) (fresh bool, err error)
	// UseRecoveryCode uses a code up; false if there is none.
	UseRecoveryCode(ctx context.Context, developerID string, hash []byte) (known bool, err error)
	EndTOTP(ctx context.Context, developerID string) error
}

// What can be wrong with a second factor.
var (
	ErrTOTPOn      = apierr.New(apierr.Conflict, "The second factor is on already. Turn it off first.")
	ErrTOTPOff     = apierr.New(apierr.Conflict, "The second factor has not been set up.")
	ErrWrongCode   = apierr.New(apierr.Forbidden, "The code is wrong, or was used before. Take the next one that the app shows.")
	ErrNoChallenge = apierr.New(apierr.Unauthorized, "The sign-in has expired. Enter your password again.")
)

// Enrolment is a second factor that waits for its first code.
type Enrolment struct {
	Secret string // to type into an app
	URL    string // to show as a QR code
}

// BeginTOTP makes a second factor. It is not asked for until ConfirmTOTP. Errors: ErrWrongPassword, ErrTOTPOn, 429.
func (a *Accounts) BeginTOTP(ctx context.Context, developerID, password string) (Enrolment, error) {
	d, err := a.Store.Developer(ctx, developerID)
	if err != nil {
		return Enrolment{}, err
	}
	if err := a.confirm(ctx, d, password); err != nil {
		return Enrolment{}, err
	}
	key := make([]byte, otpKeyBytes)
	rand.Read(key) // never fails: it ends the process instead
	sealed, err := a.Vault.Seal(key, TOTPContext(d.ID))
	if err != nil {
		return Enrolment{}, fmt.Errorf("seal a second factor: %w", err)
	}
	if err := a.Store.BeginTOTP(ctx, d.ID, sealed, a.now()); err != nil {
		return Enrolment{}, err
	}
	return Enrolment{Secret: otpText(key), URL: otpURL(key, d.Email)}, nil
}

// ConfirmTOTP turns a second factor on with its first code, and returns the recovery codes, which are not shown again.
// Errors: ErrTOTPOff, ErrTOTPOn, ErrWrongCode, 429.
func (a *Accounts) ConfirmTOTP(ctx context.Context, developerID, code string) (recovery []string, err error) {
	factor, err := a.Store.TOTP(ctx, developerID)
	switch {
	case err != nil:
		return nil, err
	case !factor.Set:
		return nil, ErrTOTPOff
	case factor.Confirmed:
		return nil, ErrTOTPOn
	}
	err = a.tryCode(developerID, func() error {
		step, ok, err := a.match(factor, developerID, code)
		if err != nil || !ok {
			return errOr(err, ErrWrongCode)
		}
		hashes := make([][]byte, RecoveryCodes)
		recovery = make([]string, RecoveryCodes)
		for i := range hashes {
			recovery[i] = newRecoveryCode()
			hashes[i] = recoveryHash(recovery[i])
		}
		return a.Store.ConfirmTOTP(ctx, developerID, step, hashes, a.now())
	})
	if err != nil {
		return nil, err
	}
	return recovery, nil
}

// EndTOTP turns the second factor off. It takes the password and a code. Errors: ErrTOTPOff, ErrWrongPassword, ErrWrongCode, 429.
func (a *Accounts) EndTOTP(ctx context.Context, developerID, password, code string) error {
	d, err := a.Store.Developer(ctx, developerID)
	if err != nil {
		return err
	}
	factor, err := a.Store.TOTP(ctx, developerID)
	if err != nil {
		return err
	}
	if !factor.Confirmed {
		return ErrTOTPOff
	}
	if err := a.confirm(ctx, d, password); err != nil {
		return err
	}
	if err := a.useCode(ctx, factor, developerID, code); err != nil {
		return err
	}
	return a.Store.EndTOTP(ctx, developerID)
}

// Factor returns the state of a developer's second factor.
func (a *Accounts) Factor(ctx context.Context, developerID string) (TOTP, error) {
	return a.Store.TOTP(ctx, developerID)
}

// enter opens a session for a developer who showed the first factor, or returns the challenge for the second one.
func (a *Accounts) enter(ctx context.Context, d Developer, c Client) (Grant, error) {
	factor, err := a.Store.TOTP(ctx, d.ID)
	if err != nil {
		return Grant{}, err
	}
	if !factor.Confirmed {
		return a.open(ctx, d, c)
	}
	now := a.now()
	challenge, err := a.Signer.Challenge(d.ID, now, now.Add(ChallengeTTL))
	return Grant{Challenge: challenge, IssuedAt: now, ExpiresAt: now.Add(ChallengeTTL), Developer: d}, err
}

// LoginTOTP finishes a sign-in with a code of the second factor or a recovery code. Errors: ErrNoChallenge, ErrWrongCode, 429.
func (a *Accounts) LoginTOTP(ctx context.Context, challenge, code string, c Client) (Grant, error) {
	developerID, err := a.Signer.ReadChallenge(challenge, a.Now())
	if err != nil {
		return Grant{}, ErrNoChallenge.Because(err)
	}
	d, err := a.Store.Developer(ctx, developerID)
	if err != nil {
		return Grant{}, ErrNoChallenge.Because(err)
	}
	factor, err := a.Store.TOTP(ctx, developerID)
	if err != nil {
		return Grant{}, err
	}
	if !factor.Confirmed { // turned off since
		return Grant{}, ErrNoChallenge
	}
	if err := a.useCode(ctx, factor, developerID, code); err != nil {
		return Grant{}, err
	}
	return a.open(ctx, d, c)
}

// useCode uses up a code of the second factor or a recovery code. Errors: ErrWrongCode, 429.
func (a *Accounts) useCode(ctx context.Context, factor TOTP, developerID, code string) error {
	return a.tryCode(developerID, func() error {
		step, ok, err := a.match(factor, developerID, code)
		if err != nil {
			return err
		}
		if ok {
			ok, err = a.Store.UseTOTPStep(ctx, developerID, step)
		} else {
			ok, err = a.Store.UseRecoveryCode(ctx, developerID, recoveryHash(code))
		}
		if err != nil || !ok {
			return errOr(err, ErrWrongCode)
		}
		return nil
	})
}

// tryCode slows down guessing: wrong codes make the next attempt of the developer wait.
func (a *Accounts) tryCode(developerID string, try func() error) error {
	subject := "code/" + developerID
	if err := a.Throttle.Attempt(subject, paceLogin); err != nil {
		return err
	}
	err := try()
	if err == nil {
		a.Throttle.Forgive(subject)
	}
	return err
}

// match returns the step whose code it is.
func (a *Accounts) match(factor TOTP, developerID, code string) (step int64, ok bool, err error) {
	key, err := a.Vault.Open(factor.Sealed, TOTPContext(developerID))
	if err != nil {
		return 0, false, fmt.Errorf("open a second factor: %w", err)
	}
	step, ok = otpMatch(key, strings.ReplaceAll(strings.TrimSpace(code), " ", ""), a.Now())
	return step, ok, nil
}

// TOTPContext ties a sealed second factor to its row.
func TOTPContext(developerID string) string { return "account_totp|" + developerID }

// newRecoveryCode is 80 random bits in four groups: too many to guess, few enough to type.
func newRecoveryCode() string {
	var b [10]byte
	rand.Read(b[:])
	t := strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
	return t[:4] + "-" + t[4:8] + "-" + t[8:12] + "-" + t[12:]
}

// recoveryHash is what is stored of a recovery code, however it is typed.
func recoveryHash(code string) []byte {
	sum := sha256.Sum256([]byte(strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(code))))
	return sum[:]
}

// errOr is err, or other if there is none.
func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
