package ledger

import (
	"cmp"
	"fmt"
)

// Kind says what a limit counts and for whom. Subjects of different kinds are different limits.
type Kind uint8

// The kinds. Their numbers are in logs and snapshots and never change.
const (
	KeyMinute    Kind = 1 // calls of an API key in a sliding window
	AppMinute    Kind = 2 // calls of an app in a sliding window
	AccountDay   Kind = 3 // calls of an account per UTC day
	KeyInFlight  Kind = 4 // calls of an API key at a time
	AppInFlight  Kind = 5 // calls of an app at a time
	KeyTokens    Kind = 6 // model tokens of an API key in a sliding window
	AppTokens    Kind = 7 // model tokens of an app in a sliding window; no limit is published for it
	PrefixMinute Kind = 8 // calls of a client prefix in a sliding window
)

// Known reports whether this build knows the kind.
func (k Kind) Known() bool { return k >= KeyMinute && k <= PrefixMinute }

// Daily reports whether the kind counts per UTC day.
func (k Kind) Daily() bool { return k == AccountDay }

// InFlight reports whether the kind counts what is going on at the moment. Its tokens are held and given back, never used up.
func (k Kind) InFlight() bool { return k == KeyInFlight || k == AppInFlight }

// Amounts reports whether one request takes many tokens of the kind at once.
func (k Kind) Amounts() bool { return k == KeyTokens || k == AppTokens }

// ID names a limit. The subject has up to 128 bits, so that a UUID is its own name and no two subjects share a limit; one of
// at most 64 bits leaves Hi at 0 and costs fewer bytes in the log.
type ID struct {
	Kind   Kind
	Hi, Lo uint64
}

// Compare orders IDs.
func (i ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(i.Kind, o.Kind), cmp.Compare(i.Hi, o.Hi), cmp.Compare(i.Lo, o.Lo))
}

func (i ID) String() string { return fmt.Sprintf("%d/%016x%016x", i.Kind, i.Hi, i.Lo) }

// Class says what a limit is: a number that SetClass gave a limit to, or the limit itself, as [Literal] makes it.
type Class uint32

// literal marks classes that are limits.
const literal Class = 1 << 31

// Literal returns the class that is the limit of so many tokens. Nodes that know limits as numbers use it, and nobody has to tell the
// ledger a table first.
func Literal(limit int64) Class { return literal | Class(min(max(limit, 0), LimitMax)) }

// Policy are the constants of the algorithm. They are part of the state: every replica has those that its ledger began with.
type Policy struct {
	WindowMS  int64 // W of the sliding kinds
	GuardMS   int64 // added to W for the rate error of the ledger clock
	TTLMS     int64 // life of a session after its last frame
	RequestMS int64 // longest life of a request: in-flight tokens of a lost session count this long
}

// DefaultPolicy is what production uses.
func DefaultPolicy() Policy {
	return Policy{WindowMS: defaultWindowMS, GuardMS: defaultGuardMS, TTLMS: defaultTTLMS, RequestMS: defaultRequestMS}
}
