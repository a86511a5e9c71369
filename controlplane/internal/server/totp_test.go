package server_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/shared/wire"
)

// guarded are two more developers, for the transcripts that name them: "pending" has set up a second factor and not confirmed
// it, "guarded" is asked for it.
func (s *stack) guarded(t *testing.T, request string, n names) {
	t.Helper()
	for _, prefix := range []string{"pending_", "guarded_"} {
		if !strings.Contains(request, "{"+prefix) {
			continue
		}
		email := prefix + strings.ToLower(uuid.NewString()) + "@example.com"
		session, _ := s.register(t, wire.RegisterRequest{Name: "Ada", Email: email, Password: "correct horse battery"})
		made := must[wire.TOTPEnrolment](t, s, "POST", "/dev/auth/totp", session.AccessToken, wire.TOTPRequest{Password: "correct horse battery"})
		now := time.Now()
		n[prefix+"email"], n[prefix+"session"], n[prefix+"developer"] = email, session.AccessToken, session.Developer.ID
		n[prefix+"code"] = code(t, made.Secret, now)
		if prefix == "guarded_" {
			on := must[wire.TOTPConfirmed](t, s, "POST", "/dev/auth/totp/confirm", session.AccessToken, wire.TOTPConfirmRequest{Code: code(t, made.Secret, now)})
			challenge := must[wire.LoginChallenge](t, s, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: email, Password: "correct horse battery"})
			n["guarded_challenge"], n["guarded_recovery"] = challenge.Challenge, on.RecoveryCodes[0]
			n["guarded_code"] = code(t, made.Secret, now.Add(30*time.Second)) // a clock may be a step fast
		}
	}
}

// code is what an authenticator app shows (RFC 6238).
func code(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}
