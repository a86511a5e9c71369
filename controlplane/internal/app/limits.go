package app

import "time"

// Bounds of apps and keys.
const (
	KeysPerAppMax         = 100    // active keys of an app
	TokensPerDeveloperMax = 100    // active Darwin tokens of a developer
	KeysListedMax         = 1000   // keys of one app or tokens of one developer in a list, newest first
	AppsPerDeveloperMax   = 10_000 // apps of a developer, whatever the plan
	TaskRunesMax          = 64     // name of a task or scope
	ValuesPerKeyMax       = 5      // values of one key that work at the same time
)

// Bounds of idempotency keys.
const (
	OnceBytesMax        = 255            // of an Idempotency-Key
	OnceFor             = 24 * time.Hour // it is remembered
	OncePerDeveloperMax = 1000           // of a developer within OnceFor
)
