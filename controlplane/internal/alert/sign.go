package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// SignatureHeader is the header that carries the signature of a notification.
const SignatureHeader = "Modelgate-Signature"

// Sign returns the signature of a body that is sent at a time, as the header carries it. The scheme is in the documentation of the
// package.
func Sign(body []byte, signingSecret string, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(signingSecret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
