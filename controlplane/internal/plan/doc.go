// Package plan is the plan table and what follows from it: how many apps an account may have and which limits its keys
// carry. The data plane knows no plans; [Terms.Limits] is where plans end.
//
// It is pure: no storage, no clock, nothing that can fail but what it refuses. Everything is safe for concurrent use.
package plan
