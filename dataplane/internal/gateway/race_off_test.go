//go:build !race

package gateway_test

const raceAllocations = 0
