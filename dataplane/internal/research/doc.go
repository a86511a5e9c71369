// Package research turns a question into a report with sources, short of asking anybody: it classifies the question, plans the
// searches, picks the sources out of what they found, and writes the prompt for the report and the list of its sources.
//
// The classes are those of the contract; they are found by rules, not by a model, so that the same question is searched for in
// the same way. Sources are pages that a search found, known by title and snippet; the pages themselves are not fetched.
//
// Concurrency: the functions keep no state. There is nothing to fail.
package research
