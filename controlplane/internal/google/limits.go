package google

import "time"

// Bounds of verification.
const (
	FetchTimeout    = 5 * time.Second
	RefetchEvery    = time.Minute // for keys that are not known, and after a failure
	KeepMin         = time.Minute // keys are kept at least and
	KeepMax         = 24 * time.Hour
	KeepDefault     = time.Hour // without a Cache-Control
	DocumentBytes   = 256 << 10 // of a JWKS
	KeysMax         = 32
	KeyBitsMin      = 2048
	KeyBitsMax      = 8192
	SubjectBytesMax = 255 // OpenID Connect Core 1.0, 2
	ClockSkew       = 30 * time.Second
)
