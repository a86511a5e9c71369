package plane

import "time"

// Bounds of what is kept to be replayed.
const (
	ReplayFor           = 24 * time.Hour   // how long an Idempotency-Key means the same call, from its claim on
	ReplayLease         = 15 * time.Second // how long a claim holds without a renewal
	ReplayRenewEvery    = ReplayLease / 3
	ReplayBytesMax      = 1 << 20  // of an answer that is kept
	ReplayEntriesMax    = 10_000   // keys of one app or Darwin token within ReplayFor
	ReplayScopeBytesMax = 64 << 20 // of answers kept of one app or Darwin token
	// ReplayMessageBytesMax is the largest message about a replay: an answer in base64, with what it comes in.
	ReplayMessageBytesMax = ReplayBytesMax/3*4 + 16<<10
)

// ReplayState is what there is under an Idempotency-Key.
type ReplayState string

// The states.
const (
	ReplayClaimed ReplayState = "claimed" // by the claim that asks: make the call, and say how it ended
	ReplayRunning ReplayState = "running" // the call is being made under another claim
	ReplayDone    ReplayState = "done"    // the call was made, the answer has its result
	ReplayUnkept  ReplayState = "unkept"  // the call was made, and its result was too large to be kept
	ReplayOther   ReplayState = "other"   // the key stands for another request
	ReplayFull    ReplayState = "full"    // there are ReplayEntriesMax keys already
	ReplayFree    ReplayState = "free"    // nothing; a claim that only looks is told so
)

// ReplayClaim asks for the right to make a call under an Idempotency-Key. It may be repeated: a claim that holds is answered as
// claimed again.
type ReplayClaim struct {
	ClaimID string `json:"claim_id"` // a UUID, made by the node for this call
	Scope   string `json:"scope"`    // whose keys these are: the app, or the Darwin token
	KeyID   string `json:"key_id"`   // that the caller shows; its deletion ends what is kept
	Key     []byte `json:"key"`      // SHA-256 of the Idempotency-Key
	Request []byte `json:"request"`  // SHA-256 of what is asked
	Look    bool   `json:"look"`     // claims nothing that is free
}

// ReplayAnswer says what there is.
type ReplayAnswer struct {
	State  ReplayState   `json:"state"`
	Result *ReplayResult `json:"result,omitempty"` // when done
}

// ReplayRenewal extends a claim by ReplayLease.
type ReplayRenewal struct {
	ClaimID string `json:"claim_id"`
}

// ReplayEnd says how a call under a claim ended: with a result to keep, with one too large to be kept, or with neither, which
// frees the key.
type ReplayEnd struct {
	ClaimID string        `json:"claim_id"`
	Result  *ReplayResult `json:"result,omitempty"`
	Unkept  bool          `json:"unkept,omitempty"`
}

// ReplayHeld says whether a claim was still there to be renewed or ended.
type ReplayHeld struct {
	Held bool `json:"held"`
}

// ReplayResult is the answer of a call that ended well.
type ReplayResult struct {
	Stream  bool   `json:"stream"`  // the body is the events of a stream up to its terminal one, framed
	Media   bool   `json:"media"`   // the body does not compress
	Backend string `json:"backend"` // "upstream", "simulator"
	Body    []byte `json:"body"`
}
