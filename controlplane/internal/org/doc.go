// Package org knows organizations: their members and roles, and the invites that bring new ones.
//
// A developer is in one organization at most. What a member may do follows from the role ([Allow]); it is asked for again
// with every request, inside the transaction that changes something, so who leaves loses everything at once. Someone of
// another organization learns of nothing here: what is not the caller's does not exist.
//
// An invite is bound to its e-mail address and works once, for InviteTTL. Its id is the secret of its link. Apps of an
// organization are package app's; their day quota and plan are the organization's.
//
// Everything is safe for concurrent use. While the database is away everything fails with the store's 503.
package org
