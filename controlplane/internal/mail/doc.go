// Package mail writes mails and gets them delivered: messages from embedded templates (text and HTML), an outbox in the
// database, and a worker that hands what is in it to the SMTP server of the configuration.
//
// A domain package makes a [Letter] with [Mailer.Letter] and gives it to its store, which queues it in the transaction that
// makes the letter true: no mail for what did not happen, none lost for what did. The letter is rendered when it is queued and
// sealed (package secret), because it holds links that grant access; the database shows neither. [Mailer.Send] skips the
// outbox, for those who wait for the outcome.
//
// A letter is sent at least once: a process that dies between the server's yes and the note of it sends again, under the same
// Message-ID. While the server is away letters wait, with growing pauses; one that the server refuses for good, or that is
// still there when its link has expired, becomes a dead letter, which keeps the reason and loses its text. Without a server
// everything but reading answers a 503 that names the settings.
//
// The package knows no accounts and no SQL. All types are safe for concurrent use once built; any number of replicas may run
// the worker.
package mail
