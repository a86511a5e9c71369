package key

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

// Why a text is not a usable key, as returned by [Checker.Check].
var (
	ErrShape = errors.New("not the shape of a key")
	ErrTag   = errors.New("key tag is not ours")
)

// Checker recognizes keys tagged under one of a fixed set of peppers without allocating. It is immutable and safe for
// concurrent use; peppers are rotated by making a new one.
type Checker struct{ peppers []padded }

// padded is a pepper prepared for HMAC (RFC 2104): the first block of the inner and of the outer hash.
type padded struct{ inner, outer [sha256.BlockSize]byte }

// NewChecker returns a checker for the peppers, which are tried in order.
func NewChecker(peppers [][]byte) *Checker {
	c := &Checker{peppers: make([]padded, len(peppers))}
	for i, pepper := range peppers {
		c.peppers[i] = pad(pepper)
	}
	return c
}

// Check returns the kind and the digest of text. The error is ErrShape when text cannot be a key, ErrTag when its tag is
// right under none of the peppers. How long it takes tells the shape of text and which pepper fits, not how much of a wrong
// tag does.
func (c *Checker) Check(text []byte) (Kind, Digest, error) {
	kind, ok := kindOf(text)
	if !ok {
		return "", Digest{}, ErrShape
	}
	cut := len(text) - tagDigits
	for i := range c.peppers {
		tag := c.peppers[i].tag(text[:cut])
		if subtle.ConstantTimeCompare(tag[:], text[cut:]) == 1 {
			return kind, sha256.Sum256(text), nil
		}
	}
	return "", Digest{}, ErrTag
}

// tag is HMAC-SHA-256 written out: with both padded blocks at hand and a text of bounded length it needs two plain hashes
// of arrays on the stack, where crypto/hmac would need two hash objects and a pool for them.
func (p *padded) tag(text []byte) [tagDigits]byte {
	var (
		inner [sha256.BlockSize + MaxLength]byte
		outer [sha256.BlockSize + sha256.Size]byte
	)
	copy(inner[:], p.inner[:])
	n := copy(inner[sha256.BlockSize:], text)
	sum := sha256.Sum256(inner[:sha256.BlockSize+n])
	copy(outer[:], p.outer[:])
	copy(outer[sha256.BlockSize:], sum[:])
	sum = sha256.Sum256(outer[:])
	return tagText(binary.BigEndian.Uint64(sum[:]))
}

func pad(pepper []byte) padded {
	var p padded
	if len(pepper) > sha256.BlockSize {
		sum := sha256.Sum256(pepper)
		pepper = sum[:]
	}
	copy(p.inner[:], pepper)
	copy(p.outer[:], pepper)
	for i := range sha256.BlockSize {
		p.inner[i] ^= 0x36
		p.outer[i] ^= 0x5c
	}
	return p
}
