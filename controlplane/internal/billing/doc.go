// Package billing sells plans through Stripe: checkouts, the customer portal, notifications, and the plan that follows from the
// subscriptions of an account.
//
// # From a payment to a plan
//
// A notification is verified (signature over the raw bytes, [SignatureTolerance], any of the configured secrets), stored once by
// its id and answered. A worker takes it from there. Stripe promises neither order nor single delivery, so a notification is
// only a hint that something changed: the worker fetches what is true now ([Billing.Sync]) and applies it. Before it fetches it
// reads the revision of the account's row; the transaction that applies holds that row and refuses when another one has
// applied since, and the worker fetches again. What is applied was thus fetched after everything applied before it: states never
// go backwards, without a comparison of clocks. The same function runs when a checkout is verified, when a deadline of the
// account has come, and for every customer once in [ReconcileEvery], which makes up for notifications that never came.
//
// # Plan in force
//
//	subscription                                    plan in force
//	incomplete; active, but a bank has not yet      that of the other subscriptions, else Free
//	  said whether it pays the first invoice
//	trialing, active                                its plan
//	past_due                                        its plan for GraceFor after the unpaid invoice, then Free;
//	                                                Free if that is the first one
//	unpaid, canceled, incomplete_expired, paused    Free
//
// The largest plan of an account's subscriptions wins. The account's plan is changed only when this result changes, so a plan
// that an operator set stays until then. A plan that allows fewer apps than there are gives the owner [ChooseFor] to say which
// to keep ([Billing.Keep]); then the rest is suspended, and comes back with a larger plan. Nothing is deleted.
//
// # Failures
//
// Without a key of Stripe's everything but the price list is a 503 that names the setting; Stripe away, or a key it refuses, is a
// 502. A notification that cannot be applied is tried [AttemptsMax] times and then kept as a dead letter, which
// `controlplane stripe events` shows and `controlplane stripe replay` tries again. With the database away notifications get a
// 503, and Stripe sends them again. The package knows no HTTP server and no SQL; Billing is safe for concurrent use.
package billing
