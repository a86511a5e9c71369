// Package result holds what model servers answer against what the contract says of it, and makes results of tensors.
//
// An answer of a server that speaks our own shapes is passed on as it came, once [Shape.Check] has found in it everything that the
// contract promises; more is allowed. An answer that lacks something is the server's fault and never mended. The shapes
// repeat the schemas of shared/api/openapi.yaml in code, because a schema cannot say that a count counts and an embedding
// is not empty; a test holds them against the examples of the document.
//
// The package asks nobody and keeps no state; everything in it may be used by many goroutines. It depends on nothing that can fail.
package result
