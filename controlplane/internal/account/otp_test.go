package account

import (
	"testing"
	"time"
)

// TestVectorsOfRFC6238 are those of its appendix B for SHA-1, cut to the six digits that apps show.
func TestVectorsOfRFC6238(t *testing.T) {
	key := []byte("12345678901234567890")
	for unix, want := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		if got := otpCode(key, unix/30); got != want[2:] {
			t.Errorf("at %d: %s, want %s", unix, got, want[2:])
		}
	}
}

// TestVectorsOfRFC4226 are those of its appendix D.
func TestVectorsOfRFC4226(t *testing.T) {
	key := []byte("12345678901234567890")
	for step, want := range []string{"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"} {
		if got := otpCode(key, int64(step)); got != want {
			t.Errorf("%d: %s, want %s", step, got, want)
		}
	}
}

func TestAClockMayBeAStepOff(t *testing.T) {
	key, now := []byte("12345678901234567890"), time.Unix(1_700_000_010, 0)
	current := now.Unix() / 30
	for off, want := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		if step, ok := otpMatch(key, otpCode(key, current+off), now); ok != want || ok && step != current+off {
			t.Errorf("%d steps off: %v, step %d", off, ok, step-current)
		}
	}
}

func TestKeyForApps(t *testing.T) {
	if got := otpURL([]byte("12345678901234567890"), "ada+x@example.com"); got != "otpauth://totp/Modelgate:ada+x@example.com?issuer=Modelgate&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
		t.Error(got)
	}
}
