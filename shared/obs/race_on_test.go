//go:build race

package obs_test

// raceEnabled tells that the race detector, which has pools forget, is on.
const raceEnabled = true
