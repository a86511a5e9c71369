//go:build race

package upstream

// raceEnabled tells that the race detector, which allocates, is on.
const raceEnabled = true
