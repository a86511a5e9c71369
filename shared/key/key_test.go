package key_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"modelgate.internal/shared/key"
)

var (
	pepperOld = []byte("the pepper before, thirty-two by")
	pepperNew = []byte("the pepper in force, thirty-two b")
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var textKinds = []key.Kind{key.Live, key.Test, key.Darwin}

func mint(t testing.TB, kind key.Kind, pepper []byte) string {
	t.Helper()
	text, err := key.Mint(kind, pepper)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMintRoundTrip(t *testing.T) {
	for _, kind := range textKinds {
		text := mint(t, kind, pepperNew)
		if got, ok := key.KindOf(text); !ok || got != kind {
			t.Errorf("KindOf(%q) = %q, %v; want %q", text, got, ok, kind)
		}
		if len(text) > key.MaxLength {
			t.Errorf("%q is longer than MaxLength", text)
		}
		if !key.Tagged(text, [][]byte{pepperNew}) {
			t.Errorf("%q is not tagged under its own pepper", text)
		}
		gotKind, digest, err := key.NewChecker([][]byte{pepperNew}).Check([]byte(text))
		if err != nil || gotKind != kind || digest != key.Hash(text) || digest != sha256.Sum256([]byte(text)) {
			t.Errorf("Check(%q) = %q, %x, %v", text, gotKind, digest, err)
		}
	}
}

func TestMintRefusesStream(t *testing.T) {
	if text, err := key.Mint(key.Stream, pepperNew); err == nil {
		t.Errorf("minted %q", text)
	}
}

func TestMintNeverRepeats(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		text := mint(t, key.Live, pepperNew)
		if seen[text] {
			t.Fatalf("%q twice", text)
		}
		seen[text] = true
	}
}

// The tag is the low 8 base62 digits of the first 64 bits of the HMAC. Keys in the field depend on it.
func TestTagIsTheStatedHMAC(t *testing.T) {
	for _, pepper := range [][]byte{nil, {1}, pepperNew, bytes.Repeat([]byte("long"), 40)} {
		text := mint(t, key.Test, pepper)
		cut := len(text) - 8
		mac := hmac.New(sha256.New, pepper)
		mac.Write([]byte(text[:cut]))
		sum := binary.BigEndian.Uint64(mac.Sum(nil))
		want := make([]byte, 8)
		for i := range want {
			want[7-i] = base62[sum%62]
			sum /= 62
		}
		if got := text[cut:]; got != string(want) {
			t.Errorf("tag %q, want %q", got, want)
		}
		if _, _, err := key.NewChecker([][]byte{pepper}).Check([]byte(text)); err != nil {
			t.Errorf("checker with a pepper of %d bytes: %v", len(pepper), err)
		}
	}
}

func TestPepperRotation(t *testing.T) {
	before, after := mint(t, key.Live, pepperOld), mint(t, key.Live, pepperNew)
	for _, c := range []struct {
		name    string
		peppers [][]byte
		text    string
		want    error
	}{
		{"old key before the rotation", [][]byte{pepperOld}, before, nil},
		{"old key while rotating", [][]byte{pepperNew, pepperOld}, before, nil},
		{"new key while rotating", [][]byte{pepperNew, pepperOld}, after, nil},
		{"old key after the rotation", [][]byte{pepperNew}, before, key.ErrTag},
		{"new key with the old pepper only", [][]byte{pepperOld}, after, key.ErrTag},
		{"no pepper", nil, after, key.ErrTag},
	} {
		if _, _, err := key.NewChecker(c.peppers).Check([]byte(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if got := key.Tagged(c.text, c.peppers); got != (c.want == nil) {
			t.Errorf("%s: Tagged = %v", c.name, got)
		}
	}
}

func TestEveryChangedCharacterIsRefused(t *testing.T) {
	check := key.NewChecker([][]byte{pepperNew, pepperOld})
	text := mint(t, key.Live, pepperNew)
	for i := range len(text) {
		forged := []byte(text)
		if forged[i] = 'A'; text[i] == 'A' {
			forged[i] = 'B'
		}
		if _, _, err := check.Check(forged); err == nil {
			t.Errorf("character %d changed and accepted: %s", i, forged)
		}
		if key.Tagged(string(forged), [][]byte{pepperNew, pepperOld}) {
			t.Errorf("character %d changed and Tagged: %s", i, forged)
		}
	}
}

func TestNotTheShapeOfAKey(t *testing.T) {
	text := mint(t, key.Live, pepperNew)
	check := key.NewChecker([][]byte{pepperNew})
	for _, bad := range []string{
		"", "svc", "svc_live_", text[:len(text)-1], text + "0", text + "\n", " " + text, strings.ToUpper(text),
		"svc_stream_" + text[9:], strings.Replace(text, "_live_", "_test-", 1), text[:20] + "-" + text[21:],
		text[:20] + "é" + text[22:], strings.Repeat("a", 1<<20),
	} {
		if _, _, err := check.Check([]byte(bad)); !errors.Is(err, key.ErrShape) {
			t.Errorf("Check(%.70q) = %v, want ErrShape", bad, err)
		}
		if kind, ok := key.KindOf(bad); ok {
			t.Errorf("KindOf(%.70q) = %q", bad, kind)
		}
		if got := key.Hint(bad); got != "" {
			t.Errorf("Hint(%.70q) = %q", bad, got)
		}
	}
}

// A hint shows the prefix and part of the tag; no digit of the secret is in it.
func TestHintLeaksNothing(t *testing.T) {
	for _, kind := range textKinds {
		text := mint(t, kind, pepperNew)
		if got, want := key.Hint(text), kind.Prefix()+"…"+text[len(text)-4:]; got != want {
			t.Errorf("Hint(%q) = %q, want %q", text, got, want)
		}
		// The same secret under another pepper has another hint, so the hint is not a function of the secret alone.
		secret := text[:len(text)-8]
		retagged := ""
		for range 1000 { // a forged tag stands for what another pepper would give
			if other := mint(t, kind, pepperOld); other[len(other)-4:] != text[len(text)-4:] {
				retagged = secret + other[len(other)-8:]
				break
			}
		}
		if key.Hint(retagged) == key.Hint(text) {
			t.Errorf("hint %q comes from the secret", key.Hint(text))
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	check := key.NewChecker([][]byte{pepperNew, pepperOld})
	good := []byte(mint(t, key.Darwin, pepperOld))
	forged := []byte(mint(t, key.Live, []byte("somebody else's")))
	short := good[:20]
	allocs := testing.AllocsPerRun(200, func() {
		_, _, _ = check.Check(good)
		_, _, _ = check.Check(forged)
		_, _, _ = check.Check(short)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzKindOf(f *testing.F) {
	for _, kind := range textKinds {
		f.Add(mint(f, kind, pepperNew))
	}
	f.Add("svc_live_")
	check := key.NewChecker([][]byte{pepperNew})
	f.Fuzz(func(t *testing.T, text string) {
		kind, ok := key.KindOf(text)
		if ok != (key.Hint(text) != "") {
			t.Errorf("KindOf and Hint disagree about %q", text)
		}
		if ok && (!strings.HasPrefix(text, kind.Prefix()) || len(text) != len(kind.Prefix())+51) {
			t.Errorf("KindOf(%q) = %q", text, kind)
		}
		_, _, err := check.Check([]byte(text))
		if ok == errors.Is(err, key.ErrShape) {
			t.Errorf("KindOf says %v, Check says %v of %q", ok, err, text)
		}
	})
}

func FuzzTagged(f *testing.F) {
	f.Add(mint(f, key.Live, pepperNew), pepperNew)
	f.Add(mint(f, key.Test, nil), []byte{})
	f.Add("short", []byte{1})
	f.Fuzz(func(t *testing.T, text string, pepper []byte) {
		tagged := key.Tagged(text, [][]byte{pepper})
		_, shape := key.KindOf(text)
		_, _, err := key.NewChecker([][]byte{pepper}).Check([]byte(text))
		if shape && tagged != (err == nil) {
			t.Errorf("Tagged(%q) = %v, Check: %v", text, tagged, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	check := key.NewChecker([][]byte{pepperNew, pepperOld})
	text := []byte(mint(b, key.Live, pepperNew))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := check.Check(text); err != nil {
			b.Fatal(err)
		}
	}
}
