// Package google verifies the ID tokens that Google gives to people who sign in (OpenID Connect Core 1.0, 3.1.3.7): signature,
// issuer, audience, expiry and the nonce that ties a token to the browser that asked for it.
//
// The keys come from the provider's JWKS. They are kept as long as its Cache-Control says, fetched again when a token names one
// that is not known, at most once in RefetchEvery, and go on being used while the provider cannot be reached. Only RS256 with
// keys of at least 2048 bits is taken.
//
// It knows no accounts. A Verifier is safe for concurrent use; a fetch is done by one caller while the others wait. When the
// provider is away and no key is known, the error is a 502.
package google
