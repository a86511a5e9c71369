// Package export says what is kept of an account, as one document for its owner: everything that belongs to it but secrets.
// The values of keys, passwords, tokens, cookies and second factors are not in it, in no form; the hints of keys are.
//
// The store reads a document in one transaction, so that it is of one moment. It is bounded: usage is told by UTC day, newest
// first, up to [UsageMax] rows, and the document says when there was more. While the database is away reading fails with the
// store's 503.
package export
