// Package storetest opens stores for the tests of the packages that need a real one. It is imported by tests only. Its
// functions fail the test they are given.
package storetest
