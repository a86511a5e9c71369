package canary

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// needle is one form of a secret.
type needle struct {
	name string
	text []byte
}

// needles are the forms in which a secret is looked for.
func needles(name, secret string) []needle {
	found := []needle{
		{name, []byte(secret)},
		{name + " in hexadecimal", []byte(hex.EncodeToString([]byte(secret)))},
		{name + " in capital hexadecimal", []byte(strings.ToUpper(hex.EncodeToString([]byte(secret))))},
		{name + " in a query", []byte(url.QueryEscape(secret))},
	}
	for shift := range 3 { // base64 of a text that has the secret in it, wherever it begins
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(append(make([]byte, shift), secret...))
			from := (shift*8 + 5) / 6 // characters that hold bits of what comes before
			to := (shift + len(secret)) * 8 / 6
			found = append(found, needle{fmt.Sprintf("%s in base64, shifted by %d", name, shift), []byte(text[from:to])})
		}
	}
	slices.SortFunc(found, func(a, b needle) int { return bytes.Compare(a.text, b.text) })
	return slices.CompactFunc(found, func(a, b needle) bool { return bytes.Equal(a.text, b.text) })
}

// canaries are the secrets that were planted, by value.
type canaries map[string]string

// scan returns the names of what is in a text but what may be there.
func (c canaries) scan(text []byte, allowed ...string) (found []string) {
	for secret, name := range c {
		if slices.Contains(allowed, secret) {
			continue
		}
		for _, n := range needles(name, secret) {
			if bytes.Contains(text, n.text) {
				found = append(found, n.name)
			}
		}
	}
	return found
}

func TestASecretIsFoundInEveryForm(t *testing.T) {
	const secret = "correct horse + battery/staple?"
	c := canaries{secret: "secret"}
	hidden := map[string]string{
		"plain": "x" + secret + "y", "hex": "\\x00" + hex.EncodeToString([]byte("a"+secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query": "/x?a=" + url.QueryEscape(secret),
	}
	for before := range 7 {
		text := []byte(strings.Repeat("z", before) + secret + strings.Repeat("z", 7-before))
		hidden[fmt.Sprint("base64 ", before)] = base64.StdEncoding.EncodeToString(text)
		hidden[fmt.Sprint("base64url ", before)] = base64.RawURLEncoding.EncodeToString(text)
	}
	for form, text := range hidden {
		if len(c.scan([]byte(text))) == 0 {
			t.Errorf("%s: not found in %q", form, text)
		}
		if got := c.scan([]byte(text), secret); len(got) != 0 {
			t.Errorf("%s: found though it is allowed: %v", form, got)
		}
	}
	if got := c.scan([]byte("correct horse + battery/stapl" + hex.EncodeToString([]byte("correct")))); len(got) != 0 {
		t.Errorf("found where it is not: %v", got)
	}
}
