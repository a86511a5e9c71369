package plane

import "encoding/json"

// Version numbers the published changes of one epoch, without gaps, from 1. Versions of different epochs are not
// comparable.
type Version uint64

// Cursor is a position in the published history. Epoch changes when the history starts over (a new or restored
// database); a node that holds another epoch's state must take a full snapshot.
type Cursor struct {
	Epoch   uint64  `json:"epoch"`
	Version Version `json:"version"`
}

// The kinds of published records. The ID of a key record is the lower-case hex SHA-256 of the key text; the other kinds
// are addressed by name.
const (
	KindKey      = "key"      // Body is a Principal
	KindModel    = "model"    // Body is a Model
	KindUpstream = "upstream" // Body is an UpstreamSpec
	KindPool     = "pool"     // Body is a PoolSpec
)

// Change is one published record, or its removal when Gone.
type Change struct {
	Version Version         `json:"version"`
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Body    json.RawMessage `json:"body,omitempty"`
	Gone    bool            `json:"gone,omitempty"`
}

// Model is a name that callers put in the "model" field and how it is served.
type Model struct {
	ID       string   `json:"id"`       // "Darwin"
	Family   string   `json:"family"`   // one of the model families, "darwin"
	Tasks    []string `json:"tasks"`    // what the model can be asked for through the direct endpoints
	Upstream string   `json:"upstream"` // ID of the UpstreamSpec or the PoolSpec; empty means not configured
	Setting  string   `json:"setting"`  // the setting that would configure it, named in the 503
}

// DialectChat is the dialect of OpenAI's chat completions.
const DialectChat = "chat"

// UpstreamSpec is a model server as an operator configured it. It carries no secret: Credential names an entry of the
// node's own configuration, so upstream keys are neither published nor stored by the control plane.
type UpstreamSpec struct {
	ID         string `json:"id"`
	Dialect    string `json:"dialect"`    // DialectChat
	BaseURL    string `json:"base_url"`   // up to and including the version, "http://127.0.0.1:8000/v1"
	Model      string `json:"model"`      // the name the upstream knows the model by
	Credential string `json:"credential"` // name of a credential on the node; empty sends none
	Simulator  bool   `json:"simulator"`  // a simulator: labelled wherever it shows, refuses live keys

	// What the node does to protect the server and itself, whichever pools the server is in. Zero values mean the defaults.
	Concurrency int     `json:"concurrency,omitempty"` // calls and streams at a time per node; 0 means no cap
	Breaker     Breaker `json:"breaker,omitzero"`
	Health      Health  `json:"health,omitzero"`
}

// Current is a configuration as a node serves by it: immutable, replaced as a whole.
type Current struct {
	Cursor
	Models    map[string]Model
	Upstreams map[string]UpstreamSpec
	Pools     map[string]PoolSpec // IDs are distinct from those of the upstreams; an upstream is also a pool of one
}
