// Package devdb finds a database and runs it for development and tests: a private server of its own wherever it can.
//
// It takes, in this order: the server that DATABASE_URL names; CockroachDB, if COCKROACH_BINARY or PATH has it;
// PostgreSQL 15 or newer from PG_BINDIR, PATH or Debian's versioned directories, newest first; the PostgreSQL that npm
// installed in portal/node_modules. With none of these [Start] fails and names the command that helps.
//
// A private PostgreSQL listens on a unix socket in a directory that only its user may enter, asks for no password
// there, and has no network address. It refuses to run as root, so root runs it as the user nobody. A private
// CockroachDB listens on a loopback port. Data is kept between runs in one directory, which one program at a time may use.
// The server dies with the program that started it.
//
// It is not for production: it neither secures, tunes, backs up nor upgrades anything.
//
// A DB may be used from any number of goroutines, except that nothing else may run beside Restart, Halt and Stop; the caller
// sees to that.
//
// When the server ends by itself, its Process says so and Restart brings it back at the same address. When the program was
// killed, the next Start clears up after it. Data of another major version than every PostgreSQL found is an error
// that says so and is left alone. A full disk or a lost DATABASE_URL server show as errors of the statements that meet them.
//
// Linux only: it relies on the parent-death signal and on /proc.
package devdb
