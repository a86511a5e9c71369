// Package stripesim simulates the part of Stripe that the control plane uses, so that a plan can be bought in development and
// tests without Stripe and without money. It never pretends to be Stripe: every page and every answer says that it is a
// simulator (header X-Simulator), and it takes no key but one that begins with [KeyPrefix].
//
// It is stateful: customers, products, prices, checkout sessions, subscriptions, invoices with their payment, disputes, the
// billing portal, and notifications. Its clock can be moved ([Sim.Advance]): periods and trials end, cards are charged again, banks
// answer, past_due subscriptions are canceled or unpaid ([Sim.LeaveUnpaid]) after [UnpaidFor], sessions expire.
//
//	/v1/...               the interface, in the shapes of version 2023-10-16, as forms and JSON
//	/pay/{session}        the checkout page
//	/invoice/{invoice}    the page of an invoice, with the 3-D Secure step
//	/portal/{session}     the billing portal
//	/_sim/advance         POST seconds=N: moves the clock
//	/_sim/faults          POST delay_ms, duplicate, loss, shuffle: how notifications are sent from now on; see [Faults]
//	/_sim/dispute         POST customer=ID: the last payment is disputed
//	/_sim/events          the notifications so far
//	/health               {"status":"ok"}
//
// The cards, with any date and code:
//
//	4242 4242 4242 4242   is charged
//	4000 0027 6000 3184   asks for 3-D Secure at the first payment
//	4000 0000 0000 0002   is declined
//	4000 0000 0000 0341   is charged the first time and declined later
//	000123456789          an account at a bank, which pays after [BankFor]
//	000111111116          an account at a bank, which refuses after [BankFor]
//
// A trial begins when the seller changes a subscription with trial_end, and one that ends without a card is paused when the seller
// says so with trial_settings. What a bank is to pay at the end of a period is paid at once.
//
// Not simulated: taxes, coupons, currencies other than that of the price, several items in a subscription. Unlike Stripe
// a checkout is complete before its 3-D Secure step, which is on the page of the invoice: so that what happens between the two
// can be tested. A Sim is safe for concurrent use; it keeps everything in memory. A notification that is not taken (no 2xx) is
// sent again, [SendTries] times.
package stripesim
