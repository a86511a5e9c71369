package audit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Installation is the chain of what belongs to no account.
const Installation = "00000000-0000-0000-0000-000000000000"

// Kinds of targets.
const (
	Account  = "account"
	Session  = "session"
	App      = "app"
	Key      = "key"
	Token    = "darwin_token"
	Org      = "organization"
	Member   = "member"
	Invite   = "invite"
	Mail     = "mail"
	Factor   = "second_factor"
	Password = "password"
	Payment  = "payment_notification" // of Stripe's
)

// Entry is what a change says of itself; the rest comes from its [Origin].
type Entry struct {
	Chain  string // id of the account or the organization that it belongs to, or Installation
	Actor  string // who a stranger turned out to be, by signing in for example
	Kind   string // of the target
	Target string // id of the target
	Before any    // what was there, as JSON without secrets; nil for nothing
	After  any    // what is there now; nil for nothing
}

// Record is an entry of a chain.
type Record struct {
	Chain     string
	Seq       int64 // 1, 2, 3 and so on
	At        time.Time
	Actor     string
	SessionID string
	Address   string
	Operation string
	Kind      string
	Target    string
	Before    *string // JSON
	After     *string // JSON
	Hash      []byte  // of the record before and of this one
}

// New returns the record that an entry becomes at a place in its chain. It is not sealed.
func New(e Entry, o Origin, seq int64, at time.Time) (Record, error) {
	r := Record{
		Chain: e.Chain, Seq: seq, At: at.UTC().Truncate(time.Microsecond), Actor: o.Actor, SessionID: o.SessionID, Address: o.Address,
		Operation: o.Operation, Kind: e.Kind, Target: e.Target,
	}
	if o.Actor == "" && o.Address != "" {
		r.Actor = e.Actor
	}
	var err error
	if r.Before, err = text(e.Before); err != nil {
		return Record{}, err
	}
	r.After, err = text(e.After)
	return r, err
}

// Seal sets the hash of a record that follows one with the hash previous, which is empty for the first.
func (r *Record) Seal(previous []byte) { r.Hash = r.sum(previous) }

// sum is SHA-256 over the previous hash and the canonical form: a JSON array of the fields in their order, the time in
// microseconds since 1970.
func (r *Record) sum(previous []byte) []byte {
	canonical, err := json.Marshal([]any{
		r.Chain, r.Seq, r.At.UnixMicro(), r.Actor, r.SessionID, r.Address, r.Operation, r.Kind, r.Target, r.Before, r.After,
	})
	if err != nil {
		panic("BUG: audit: texts and numbers cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(append(append([]byte(nil), previous...), canonical...))
	return sum[:]
}

func text(v any) (*string, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // nothing there is a state of its own
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode an audit record: %w", err)
	}
	s := string(b)
	return &s, nil
}
