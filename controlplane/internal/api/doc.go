// Package api is the HTTP interface of the control plane: a handler per operation, a file per resource, and the route table
// ([API.Routes]) that is held against the contract.
//
// A handler reads the request, asks a domain package and writes the answer; it decides nothing. Errors are returned and
// written by the server package. Who is signed in is established here (bearer sessions); whether a thing is theirs is
// decided where the thing is loaded, so that another developer's ids are not found rather than refused.
//
// The package knows no SQL and listens to nothing. API is immutable once built and safe for concurrent use. When the database
// is away the domain packages' 503 comes through; pages and the document need no database and keep working.
package api
