package plane

import "time"

// Paths of the control plane's internal listener. Every one but JoinPath wants "Authorization: Bearer <node secret>";
// JoinPath wants the join token.
const (
	JoinPath   = "/internal/v1/join"   // POST JoinRequest -> JoinAnswer
	ConfigPath = "/internal/v1/config" // GET ?epoch=&version= -> endless zstd stream of Message, one JSON object a line
	AckPath    = "/internal/v1/ack"    // POST Ack -> 204
	UsagePath  = "/internal/v1/usage"  // POST zstd stream of an upload, see package usage -> UsageAck
	DaysPath   = "/internal/v1/days"   // POST DaysRequest -> DaysAnswer

	ReplayClaimPath = "/internal/v1/replay/claim" // POST ReplayClaim -> ReplayAnswer
	ReplayRenewPath = "/internal/v1/replay/renew" // POST ReplayRenewal -> ReplayHeld
	ReplayEndPath   = "/internal/v1/replay/end"   // POST ReplayEnd -> ReplayHeld
)

// Headers of a usage segment. Segment numbers are per node and incarnation.
const (
	HeaderIncarnation = "X-Modelgate-Incarnation"
	HeaderSegment     = "X-Modelgate-Segment"
)

// Bounds of the protocol.
const (
	PingEvery         = 2 * time.Second  // silence on the config stream before a ping
	StreamSilenceMax  = 10 * time.Second // silence after which a node reconnects
	MessageBytesMax   = 1 << 20          // one line of the config stream, decoded
	SegmentBytesMax   = 8 << 20          // one usage upload, compressed
	SegmentRecordsMax = 50_000           // records in one usage upload
	DaysAccountsMax   = 256              // accounts in one DaysRequest
)

// JoinRequest asks for a node identity.
type JoinRequest struct {
	Name  string `json:"name"`  // chosen by the operator, unique: "eu-1"
	Build string `json:"build"` // version of the binary
}

// JoinAnswer is a node identity. The secret is shown once; the node keeps it in its data directory.
type JoinAnswer struct {
	NodeID string `json:"node_id"`
	Secret string `json:"secret"`
}

// Message is one line of the config stream. Exactly one field is set.
type Message struct {
	Hello  *Hello  `json:"hello,omitempty"`  // first line
	Change *Change `json:"change,omitempty"` // a record
	Mark   *Cursor `json:"mark,omitempty"`   // everything up to here has been sent: apply, then acknowledge
	Ping   bool    `json:"ping,omitempty"`   // nothing new
}

// Hello opens a config stream. When Reset is set the records that follow, up to the first Mark, are the whole state and
// replace what the node has; otherwise they continue from the node's cursor.
type Hello struct {
	Epoch      uint64            `json:"epoch"`
	Reset      bool              `json:"reset"`
	KeyPeppers [][]byte          `json:"key_peppers"` // current first; secrets of the tag inside key texts
	StreamKeys map[string][]byte `json:"stream_keys"` // kid -> raw Ed25519 public key that signs stream keys
}

// Ack says that a node serves by this cursor.
type Ack struct {
	Cursor
	KeysHeld int64  `json:"keys_held"`
	Build    string `json:"build"`
}

// DaysRequest asks how many calls of accounts count against their quota of a UTC day, for a rate-limit ledger that does not know.
type DaysRequest struct {
	Day      string   `json:"day"` // "2026-03-14"
	Accounts []string `json:"accounts"`
}

// DaysAnswer has the calls by account. Accounts without calls are missing.
type DaysAnswer struct {
	Calls map[string]int64 `json:"calls"`
}

// UsageAck answers a usage upload: every record of the segment up to and including Seq is stored for good.
type UsageAck struct {
	Seq uint64 `json:"seq"`
}
