package alert_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/alert"
)

// verify is what a receiver does with a notification: the raw body, the header, the signing secret, and its clock.
func verify(body []byte, header, signingSecret string, now time.Time) bool {
	stamp, signature, _ := strings.Cut(header, ",")
	t, signed := strings.CutPrefix(stamp, "t=")
	want, known := strings.CutPrefix(signature, "v1=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if !signed || !known || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(signingSecret))
	mac.Write([]byte(t + "." + string(body)))
	got, err := hex.DecodeString(want)
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

func ExampleSign() {
	body, at := []byte(`{"type":"usage.threshold"}`), time.Unix(1767607200, 0)
	header := alert.Sign(body, "mgwh_secret", at)
	fmt.Println(header)
	fmt.Println(verify(body, header, "mgwh_secret", at.Add(time.Minute)))
	fmt.Println(verify(append(body, ' '), header, "mgwh_secret", at))
	fmt.Println(verify(body, header, "mgwh_other", at))
	fmt.Println(verify(body, header, "mgwh_secret", at.Add(time.Hour)))
	// Output:
	// t=1767607200,v1=eaab78b04388a3c7c346ff0d0ecf4bb9c60146cae2a53729cb8d492ae08b567d
	// true
	// false
	// false
	// false
}
