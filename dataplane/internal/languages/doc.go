// Package languages names languages by their codes of BCP 47. What it knows is the data of Unicode's CLDR that comes with
// golang.org/x/text; whether anything can translate a language is for others to say.
//
// Concurrency: the functions keep no state. There is nothing to fail.
package languages
