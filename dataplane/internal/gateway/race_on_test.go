//go:build race

package gateway_test

// raceAllocations is what the race detector adds: it has pools forget some of what they are given.
const raceAllocations = 6
