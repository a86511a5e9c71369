// Package apitest makes requests out of the contract for the tests of both planes: what is documented, changed in one place.
//
// It reads the document and judges nothing; what an answer has to be is the caller's to say. It is for tests only. The functions keep
// no state and are safe for concurrent use.
package apitest
