package account

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps compute; RFC 6238 does not rest on collision resistance
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// Time-based one-time passwords (RFC 6238) as authenticator apps have them: HMAC-SHA-1, six digits, steps of 30 seconds.
const (
	otpStep      = 30 * time.Second
	otpDigits    = 6
	otpModulus   = 1_000_000
	otpKeyBytes  = 20 // RFC 4226 asks for the length of the hash
	otpSkewSteps = 1  // steps that a clock may be off, either way
)

// otpCode is the code of a step: HOTP (RFC 4226, 5.3) with the step as its counter.
func otpCode(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never fails
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%0*d", otpDigits, (binary.BigEndian.Uint32(sum[offset:])&0x7fff_ffff)%otpModulus)
}

// otpMatch returns the step whose code it is, if it is one of now.
func otpMatch(key []byte, code string, now time.Time) (step int64, ok bool) {
	current := now.Unix() / int64(otpStep/time.Second)
	for s := current - otpSkewSteps; s <= current+otpSkewSteps; s++ { // all are compared, so that the time tells nothing
		if subtle.ConstantTimeCompare([]byte(otpCode(key, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// otpText is a key as people type it into an app.
func otpText(key []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key)
}

// otpURL is a key as apps read it from a QR code (Key Uri Format of Google Authenticator).
func otpURL(key []byte, email string) string {
	q := url.Values{"secret": {otpText(key)}, "issuer": {"Modelgate"}}
	return "otpauth://totp/Modelgate:" + url.PathEscape(email) + "?" + q.Encode()
}
