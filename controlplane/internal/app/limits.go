package app

// Bounds of apps and keys.
const (
	KeysPerAppMax         = 100    // active keys of an app
	TokensPerDeveloperMax = 100    // active Darwin tokens of a developer
	KeysListedMax         = 1000   // keys of one app or tokens of one developer in a list, newest first
	AppsPerDeveloperMax   = 10_000 // apps of a developer, whatever the plan
	TaskRunesMax          = 64     // name of a task or scope
)
