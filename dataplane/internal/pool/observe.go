package pool

import (
	"time"

	"modelgate.internal/shared/plane"
)

// op tells the two ways to ask apart, because their latencies mean different things.
type op uint8

const (
	opAsk  op = iota // until the whole answer
	opOpen           // until the first event
)

// Facts are what a record of one call wants to know.
type Facts struct {
	Pool      string        // that was asked last; another one than the call's when a fallback was taken
	Upstream  string        // member that was asked last: the one that answered, if one did; "" when none was asked
	Attempts  int           // in all pools
	Fallbacks int           // taken
	Queued    time.Duration // spent waiting for a member: in queues, for Retry-After and between attempts
}

// State of a member.
type State string

// The states, the best first.
const (
	StateUp      State = "up"
	StateProbing State = "probing" // half open: one call decides
	StateResting State = "resting" // asked for quiet by Retry-After
	StateDown    State = "down"    // health checks fail
	StateOpen    State = "open"    // the breaker is open
)

// How a wait in a queue ended.
const (
	WaitServed    = "served"
	WaitTimedOut  = "timed_out" // the longest wait passed
	WaitRefused   = "refused"   // no member is left to wait for
	WaitAbandoned = "abandoned" // the call's context ended
	WaitFull      = "full"      // the queue was full: it never waited
)

// Why a failure that could have been tried again was not.
const (
	HeldAttempts = "attempts" // the cap on attempts
	HeldBudget   = "budget"   // the retry budget
)

// Observer is told what happens, for metrics. Functions may be nil and are called from many goroutines; they must not block
// and must not call into the package. All words are from the closed sets above; pools and upstreams are named by ID.
type Observer struct {
	// Attempt is one attempt: ResultOK, a plane.FailureClass, "rejected" or "ended". For a stream, took is until its first event,
	// or until it failed before that.
	Attempt func(pool, upstream, result string, took time.Duration)
	// Broken is a stream that broke off after its first event.
	Broken func(pool, upstream string)
	// Waited is a wait in a queue: one of the Wait words.
	Waited func(pool, how string, waited time.Duration)
	// Held is a retry that was not made: one of the Held words.
	Held func(pool, why string)
	// Fallback is a call that goes on in another pool.
	Fallback func(pool, to string, class plane.FailureClass)
	// Panic is a call that went to a member whose health checks fail, because no better one was left.
	Panic func(pool, upstream string)
	// State is a change of a member. It is called under the lock of the Set.
	State func(upstream string, s State)
}

func (o *Observer) attempt(pool, upstream, result string, took time.Duration) {
	if o.Attempt != nil {
		o.Attempt(pool, upstream, result, took)
	}
}

func (o *Observer) waited(pool, how string, waited time.Duration) {
	if o.Waited != nil {
		o.Waited(pool, how, waited)
	}
}

func (o *Observer) held(pool, why string) {
	if o.Held != nil {
		o.Held(pool, why)
	}
}
