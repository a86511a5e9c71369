package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// KeyBytes is the length of every key: key-encryption keys, peppers and session seeds.
const KeyBytes = 32

// Sealed is a value as it is stored.
type Sealed struct {
	KEKID      string // the key-encryption key
	SealedKey  []byte // nonce and sealed key of the value
	Nonce      []byte
	Ciphertext []byte
}

// Vault seals and opens values.
type Vault struct {
	current string
	keks    map[string]cipher.AEAD
}

// NewVault returns a vault that seals under the first of the keys and opens what any of them sealed.
func NewVault(keys [][]byte) (*Vault, error) {
	if len(keys) == 0 {
		return nil, errors.New("make a vault: no key-encryption key")
	}
	v := &Vault{current: kekID(keys[0]), keks: make(map[string]cipher.AEAD, len(keys))}
	for _, k := range keys {
		aead, err := newAEAD(k)
		if err != nil {
			return nil, fmt.Errorf("make a vault: %w", err)
		}
		v.keks[kekID(k)] = aead
	}
	return v, nil
}

// Seal seals a value for the context. Any change of the context makes it unreadable.
func (v *Vault) Seal(plain []byte, context string) (Sealed, error) {
	key := random(KeyBytes)
	aead, err := newAEAD(key)
	if err != nil {
		return Sealed{}, fmt.Errorf("seal: %w", err)
	}
	kek := v.keks[v.current]
	kekNonce, nonce := random(kek.NonceSize()), random(aead.NonceSize())
	return Sealed{
		KEKID:      v.current,
		SealedKey:  kek.Seal(kekNonce, kekNonce, key, []byte(context)),
		Nonce:      nonce,
		Ciphertext: aead.Seal(nil, nonce, plain, []byte(context)),
	}, nil
}

// Current names the key-encryption key that values are sealed under.
func (v *Vault) Current() string { return v.current }

// Has reports whether the vault opens what the named key-encryption key sealed.
func (v *Vault) Has(kekID string) bool {
	_, ok := v.keks[kekID]
	return ok
}

// Rewrap returns the value sealed under the current key-encryption key. Its text stays as it is and is not looked at, so
// that Nonce and Ciphertext may be missing.
func (v *Vault) Rewrap(s Sealed, context string) (Sealed, error) {
	key, err := v.unwrap(s, context)
	if err != nil {
		return Sealed{}, err
	}
	kek := v.keks[v.current]
	nonce := random(kek.NonceSize())
	s.KEKID, s.SealedKey = v.current, kek.Seal(nonce, nonce, key, []byte(context))
	return s, nil
}

// Open returns the value that was sealed for the context.
func (v *Vault) Open(s Sealed, context string) ([]byte, error) {
	key, err := v.unwrap(s, context)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, fmt.Errorf("open a sealed value: %w", err)
	}
	if len(s.Nonce) != aead.NonceSize() {
		return nil, errors.New("open a sealed value: its nonce has the wrong length")
	}
	plain, err := aead.Open(nil, s.Nonce, s.Ciphertext, []byte(context))
	if err != nil {
		return nil, fmt.Errorf("open a sealed value: %w", err)
	}
	return plain, nil
}

// unwrap returns the key of a value.
func (v *Vault) unwrap(s Sealed, context string) ([]byte, error) {
	kek, ok := v.keks[s.KEKID]
	if !ok {
		return nil, fmt.Errorf("open a sealed value: key-encryption key %s is not configured", s.KEKID)
	}
	if len(s.SealedKey) < kek.NonceSize() {
		return nil, errors.New("open a sealed value: its key is cut short")
	}
	key, err := kek.Open(nil, s.SealedKey[:kek.NonceSize()], s.SealedKey[kek.NonceSize():], []byte(context))
	if err != nil {
		return nil, fmt.Errorf("open the key of a sealed value: %w", err)
	}
	return key, nil
}

// Generate returns the written form of a new random key.
func Generate() string { return base64.StdEncoding.EncodeToString(random(KeyBytes)) }

// Parse reads keys of KeyBytes bytes in base64, one a line, the current one first. Empty lines and lines that begin with
// # are skipped. Errors say which line, never what is in it.
func Parse(text string) ([][]byte, error) {
	var keys [][]byte
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(k) != KeyBytes {
			return nil, fmt.Errorf("line %d is not %d bytes in base64", n, KeyBytes)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key")
	}
	return keys, nil
}

// kekID names a key without telling anything about it.
func kekID(k []byte) string {
	sum := sha256.Sum256(append([]byte("modelgate key-encryption key id\x00"), k...))
	return hex.EncodeToString(sum[:8])
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("a key of %d bytes, want %d", len(key), KeyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the process instead
	return b
}
