//go:build !race

package upstream

// raceEnabled tells that the race detector, which allocates, is off.
const raceEnabled = false
