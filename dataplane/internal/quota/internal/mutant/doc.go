// Package mutant names known ways to break the quota ledger, so that the simulation can prove that it would notice each of them.
//
// It holds switches and no code. The ledger, its clock and the client core each carry a Set whose zero value is the correct
// algorithm; only tests below the quota package can set another one, since this package is internal to it. A Set is written
// before use and read afterwards, from any goroutine. It depends on nothing.
package mutant
