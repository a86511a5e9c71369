// Package account knows developers: registering, signing in, sessions, and the terms an operator sets.
//
// Passwords are hashed with argon2id, as many at a time as there are cores, so that a flood of sign-ins cannot take the
// memory. An unknown address costs as much time as a wrong password and gets the same answer. Failed sign-ins slow down
// the next ones per account and per network ([Throttle], in the memory of this process).
//
// A session is a row; its token is a JWT that names it. Every use asks for the row, at most once in SessionCacheTTL, so a
// removed session ends everywhere within that time, and at once in the process that removed it. A browser renews its session
// with a cookie that works once: who brings a used one ends the session, because two have it.
//
// A deletion is a date a week ahead; until then the owner can sign in and take it back. [Remover] does it when the date has
// come.
//
// Mails are made here and queued by the store with what they tell of (package mail). The package knows no organizations.
//
// All types are safe for concurrent use once built. While the database is away everything fails with the store's 503,
// except sessions that were checked less than SessionCacheTTL ago.
package account
