// Command mailbox runs the development mailbox: an SMTP server on loopback that keeps every mail, delivers none, and shows
// them on a page. Package bench/internal/mailbox documents the addresses.
//
// It does no work of its own: flags, wiring and waiting. SIGINT and SIGTERM end it with status 0; a wrong flag ends it with
// status 2, a port that is taken or an address that is not loopback with status 1.
package main
