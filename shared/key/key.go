package key

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/big"
)

// Kind is the sort of a credential.
type Kind string

// The kinds.
const (
	Live   Kind = "live"   // counts against the day quota
	Test   Kind = "test"   // the same API with sandboxed usage
	Darwin Kind = "darwin" // accepted on the Darwin host only
	Stream Kind = "stream" // a short-lived JWT that stands for a key
	Portal Kind = "portal" // a developer's own session in the portal, for calls that no key was chosen for
)

const (
	prefixLive   = "svc_live_"
	prefixTest   = "svc_test_"
	prefixDarwin = "svc_darwin_"
)

// Lengths in characters.
const (
	secretDigits = 43 // 62^43 > 2^256
	tagDigits    = 8
	hintDigits   = 4
)

// MaxLength bounds the text of a key, in bytes. Longer text is not a key.
const MaxLength = len(prefixDarwin) + secretDigits + tagDigits

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Digest is the SHA-256 of a key text, by which keys are looked up.
type Digest [sha256.Size]byte

// Prefix returns the text that keys of the kind start with, or "" for a kind that has no key text.
func (k Kind) Prefix() string {
	switch k {
	case Live:
		return prefixLive
	case Test:
		return prefixTest
	case Darwin:
		return prefixDarwin
	case Stream, Portal:
		return ""
	}
	return ""
}

// Mint returns the text of a new key of the kind, tagged under pepper.
func Mint(kind Kind, pepper []byte) (string, error) {
	if kind.Prefix() == "" {
		return "", fmt.Errorf("mint key: kind %q has no key text", kind)
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("mint key: %w", err)
	}
	text := kind.Prefix() + base62(secret[:], secretDigits)
	return text + tag(text, pepper), nil
}

// KindOf returns the kind that text has by its prefix, length and alphabet, and false if it cannot be a key.
func KindOf(text string) (Kind, bool) { return kindOf(text) }

func kindOf[T string | []byte](text T) (Kind, bool) {
	var (
		kind Kind
		body T
	)
	switch {
	case hasPrefix(text, prefixLive):
		kind, body = Live, text[len(prefixLive):]
	case hasPrefix(text, prefixTest):
		kind, body = Test, text[len(prefixTest):]
	case hasPrefix(text, prefixDarwin):
		kind, body = Darwin, text[len(prefixDarwin):]
	default:
		return "", false
	}
	if len(body) != secretDigits+tagDigits {
		return "", false
	}
	for i := range len(body) {
		c := body[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", false
		}
	}
	return kind, true
}

func hasPrefix[T string | []byte](text T, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

// Tagged reports whether the tag of text is right under one of the peppers. Two peppers are in force while rotating.
func Tagged(text string, peppers [][]byte) bool {
	if len(text) < tagDigits {
		return false
	}
	cut := len(text) - tagDigits
	for _, pepper := range peppers {
		if subtle.ConstantTimeCompare([]byte(tag(text[:cut], pepper)), []byte(text[cut:])) == 1 {
			return true
		}
	}
	return false
}

// Hash returns the digest that text is looked up by.
func Hash(text string) Digest { return sha256.Sum256([]byte(text)) }

// Hint returns what may be shown of a key: its prefix and its last four characters, which belong to the tag and so say
// nothing about the secret.
func Hint(text string) string {
	kind, ok := KindOf(text)
	if !ok {
		return ""
	}
	return kind.Prefix() + "…" + text[len(text)-hintDigits:]
}

func tag(text string, pepper []byte) string {
	mac := hmac.New(sha256.New, pepper)
	mac.Write([]byte(text))
	sum := binary.BigEndian.Uint64(mac.Sum(nil))
	out := tagText(sum)
	return string(out[:])
}

// tagText writes the low digits of sum.
func tagText(sum uint64) [tagDigits]byte {
	var out [tagDigits]byte
	for i := range out {
		out[tagDigits-1-i] = digits[sum%uint64(len(digits))]
		sum /= uint64(len(digits))
	}
	return out
}

// base62 returns the last n base62 digits of the big-endian number in b, left-padded with zeros.
func base62(b []byte, n int) string {
	var (
		num  = new(big.Int).SetBytes(b)
		base = big.NewInt(int64(len(digits)))
		rem  = new(big.Int)
		out  = make([]byte, n)
	)
	for i := n - 1; i >= 0; i-- {
		num.DivMod(num, base, rem)
		out[i] = digits[rem.Int64()]
	}
	return string(out)
}
