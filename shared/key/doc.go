// Package key knows the text of API keys: their kinds and prefixes, how they are minted, recognized and hashed.
//
// A key is "svc_live_", "svc_test_" or "svc_darwin_", 43 base62 digits of a random 256-bit number, and a tag of 8 base62
// digits: HMAC-SHA-256 of everything before it under a secret of the installation (the pepper). A forged or mistyped key is
// refused by its tag without any look-up. Look-up is by SHA-256, which needs no salt or stretching for a 256-bit random
// secret.
//
// A stream token is a JWT that stands for a key for some minutes: [StreamSigner] makes it, [StreamVerifier] reads it on a node,
// which holds public keys only, and what it says is the digest of the key. The control plane also makes such tokens for itself, for
// one call of a developer who has chosen no key: they say what they may do, and nobody else sees them. The package
// keeps no state; everything is safe for concurrent use.
package key
