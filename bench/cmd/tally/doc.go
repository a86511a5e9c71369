// Command tally reads what `go test -json` writes, shows what `go test` shows without -json, and ends with one plain line
// "N passed, N failed".
//
// It counts every test and subtest that passed or failed, and a package that failed without a failed test (it did not build,
// it panicked, it ran out of time) as one failure; skipped tests count as neither. With -vitest it adds the counts of a report of
// vitest. It exits with 1 when anything failed or when nothing was counted.
//
// It does not run tests. It works in one goroutine. Input that is not a test event is shown as it is.
package main
