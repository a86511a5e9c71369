// Package mailbox is the development mailbox: an SMTP server that takes every mail and delivers none, and pages that show what
// arrived. It stands in for a mail server in `make run` and in tests, and says so on every page.
//
//	GET    /                        the mails, newest first
//	GET    /messages/{id}           one mail: its text with links that work, and its HTML in a sandbox
//	GET    /messages/{id}/html      the HTML of a mail, without scripts
//	GET    /api/messages?to=A       JSON: the mails, oldest first; to an address, if one is given
//	DELETE /api/messages            forgets them
//	GET    /health                  {"status":"ok"}
//
// It keeps the last Keep mails in memory, without asking who reads them: it listens on loopback only. It knows no TLS, no login
// and no delivery. A Box is safe for concurrent use. A mail that cannot be parsed is shown as it came.
package mailbox
