// Package alert tells an account, a developer or an organization, that its calls of the UTC day have reached 50, 80 or 100 % of its
// day quota: by mail to who pays, and by a signed webhook. Who wants it turns it on.
//
// # Once
//
// A watcher, one replica at a time by a lease, compares the counts of the day with the quotas. The transaction that queues the mails
// and the notification first moves the mark of the account, the highest threshold that was told of for the day; it queues nothing
// when the mark is there already. So each threshold is told once, whatever dies or runs twice. When several are passed between two
// looks the highest is told. A quota that grows moves nothing back.
//
// # Webhook
//
// A notification is a POST of JSON to the address of the account with the header [SignatureHeader]:
//
//	Modelgate-Signature: t=1767607200,v1=5f2c…
//
// t is when it was sent, in seconds since 1970; v1 is HMAC-SHA256 in hex, keyed with the signing secret as text, over t, a full stop
// and the raw body (the scheme of Stripe's webhooks). Receivers compute it over the bytes they got, compare in constant time and refuse a t that is
// more than five minutes away; the example of Sign does it. id names the notification and is the same in every attempt.
// Any 2xx within [SendTimeout] is taken as received. Else it is sent again with growing pauses for [DeliverFor], and is then dead, which the
// settings show with the reason. It is sent at least once: a process that dies between the answer and the note of it sends again.
//
// The secret is shown once, when it is made, and kept sealed (package secret). It signs at the time of sending: what was refused
// because the receiver did not have the new secret yet is sent again.
//
// A test of a webhook ([Alerts.Test]) goes the same way, once in [TestEvery]; its type says that it is one.
//
// # Where it may be sent
//
// Only https, without user and password, to public addresses. The address is judged when the connection is made, after the name was
// resolved, so that no name leads inside; redirects are not followed and proxies not used. A portal that itself is served from
// loopback, which is development, also sends to loopback, http too.
//
// # Failures
//
// With the database away nothing is looked at and nothing lost. Without a mail server turning mails on is a 503 that names the
// settings; letters are queued with package mail. The package knows no SQL and no accounts; Alerts is safe for concurrent use.
package alert
