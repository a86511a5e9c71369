package plane

import "time"

// How a call ended.
const (
	EndDone        = "done"         // the whole answer was sent
	EndRefused     = "refused"      // refused by us before any upstream was asked
	EndFailed      = "failed"       // failed before the first byte of an answer
	EndClientGone  = "client_gone"  // the client left
	EndRevoked     = "revoked"      // the key was revoked while the answer was on its way
	EndUpstreamCut = "upstream_cut" // the upstream broke off or sent nonsense after the first event
	EndDeadline    = "deadline"     // a deadline of ours passed
	EndDrained     = "drained"      // the node was shut down and the stream outlived the drain time
	EndNodeCrash   = "node_crash"   // the node died; its next process, or whoever ships its directory, counts what was sent until then
	EndLimit       = "limit"        // the stream reached a limit of model tokens
)

// Where token counts come from.
const (
	SourceProvider  = "provider"  // the upstream's own count
	SourceCounted   = "counted"   // deltas seen by the gateway: a lower bound
	SourceEstimated = "estimated" // derived from text length
	SourceNone      = "none"      // no model was asked
)

// UsageRecord is one call as it is counted. (Node, Incarnation, Seq) is its identity: ingest applies each once.
// Package usage has its form in files and uploads; the JSON form is for people.
type UsageRecord struct {
	Seq         uint64        `json:"seq"` // per node and incarnation, from 1, without gaps
	RequestID   string        `json:"request_id"`
	At          time.Time     `json:"at"` // when the request arrived; its UTC day is the day it counts for
	AccountID   string        `json:"account_id"`
	DeveloperID string        `json:"developer_id"`
	AppID       string        `json:"app_id"` // empty for Darwin tokens
	KeyID       string        `json:"key_id"`
	Endpoint    string        `json:"endpoint"` // operation id of the contract, "agent"
	Model       string        `json:"model"`
	Task        string        `json:"task"`
	Backend     string        `json:"backend"`
	Status      int           `json:"status"`
	End         string        `json:"end"`
	Source      string        `json:"source"`
	TokensIn    int64         `json:"tokens_in"`
	TokensOut   int64         `json:"tokens_out"`
	TTFT        time.Duration `json:"ttft"` // nanoseconds to the first event; 0 when there was none
	Took        time.Duration `json:"took"` // nanoseconds to the end
	Sandbox     bool          `json:"sandbox"`
}
