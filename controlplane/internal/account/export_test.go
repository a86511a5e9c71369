package account

import (
	"encoding/base32"
	"time"
)

// Code is what an app shows at a time, given the secret that was typed into it.
func Code(secret string, at time.Time) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		panic(err)
	}
	return otpCode(key, at.Unix()/30)
}
