package secret_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/controlplane/internal/secret"
)

func vault(t *testing.T, keys ...byte) *secret.Vault {
	t.Helper()
	var all [][]byte
	for _, k := range keys {
		all = append(all, bytes.Repeat([]byte{k}, secret.KeyBytes))
	}
	v, err := secret.NewVault(all)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRoundTripAndRotation(t *testing.T) {
	old := vault(t, 1)
	sealed, err := old.Seal([]byte("svc_live_x"), "row 1")
	if err != nil {
		t.Fatal(err)
	}
	rotated := vault(t, 2, 1)
	for name, v := range map[string]*secret.Vault{"same": old, "rotated": rotated} {
		if plain, err := v.Open(sealed, "row 1"); err != nil || string(plain) != "svc_live_x" {
			t.Errorf("%s: %q %v", name, plain, err)
		}
	}
	again, err := rotated.Seal([]byte("y"), "row 2")
	if err != nil || again.KEKID == sealed.KEKID {
		t.Errorf("a rotated vault seals under %s: %v", again.KEKID, err)
	}
	if _, err := old.Open(again, "row 2"); err == nil || !strings.Contains(err.Error(), "not configured") {
		t.Errorf("opened without the key: %v", err)
	}
}

func TestNothingElseOpens(t *testing.T) {
	v := vault(t, 1)
	sealed, err := v.Seal([]byte("svc_live_x"), "key|ada|1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Open(sealed, "key|bob|1"); err == nil {
		t.Error("opened for another owner")
	}
	flip := func(b []byte) []byte { c := slices.Clone(b); c[len(c)-1] ^= 1; return c }
	damaged := map[string]secret.Sealed{
		"key":        {KEKID: sealed.KEKID, SealedKey: flip(sealed.SealedKey), Nonce: sealed.Nonce, Ciphertext: sealed.Ciphertext},
		"nonce":      {KEKID: sealed.KEKID, SealedKey: sealed.SealedKey, Nonce: flip(sealed.Nonce), Ciphertext: sealed.Ciphertext},
		"ciphertext": {KEKID: sealed.KEKID, SealedKey: sealed.SealedKey, Nonce: sealed.Nonce, Ciphertext: flip(sealed.Ciphertext)},
		"short key":  {KEKID: sealed.KEKID, SealedKey: sealed.SealedKey[:3], Nonce: sealed.Nonce, Ciphertext: sealed.Ciphertext},
		"no nonce":   {KEKID: sealed.KEKID, SealedKey: sealed.SealedKey, Ciphertext: sealed.Ciphertext},
		"erased":     {KEKID: sealed.KEKID},
	}
	for what, s := range damaged {
		if _, err := v.Open(s, "key|ada|1"); err == nil {
			t.Errorf("opened with a damaged %s", what)
		}
	}
	second, err := v.Seal([]byte("svc_live_x"), "key|ada|1")
	if err != nil || bytes.Equal(second.Ciphertext, sealed.Ciphertext) || bytes.Equal(second.SealedKey, sealed.SealedKey) {
		t.Error("sealing twice gives the same")
	}
}

func TestParse(t *testing.T) {
	one, two := secret.Generate(), secret.Generate()
	keys, err := secret.Parse("# current\n" + one + "\n\n  " + two + "  \n")
	if err != nil || len(keys) != 2 || len(keys[0]) != secret.KeyBytes || bytes.Equal(keys[0], keys[1]) {
		t.Errorf("%d keys: %v", len(keys), err)
	}
	for text, want := range map[string]string{
		"":                            "there is no key",
		"# nothing":                   "there is no key",
		"hunter2":                     "line 1",
		one + "\nc2hvcnQ=":            "line 2",
		one + one:                     "line 1",
		strings.Repeat("\n", 3) + "!": "line 4",
	} {
		_, err := secret.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
