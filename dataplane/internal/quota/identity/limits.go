package identity

import "time"

const (
	idBytes       = 16
	secretBytes   = 32
	authorityLife = 10 * 365 * 24 * time.Hour
	certLife      = 90 * 24 * time.Hour // of a node
	renewPart     = 3                   // a certificate is renewed when less than one part of so many of its life is left
	clockError    = time.Hour           // certificates are valid from this long ago, for nodes whose clock is behind
	tokenLife     = 24 * time.Hour
	tokensMax     = 256 // issued and not used
	identityFile  = "identity.json"
	tokenDir      = "tokens"
)
