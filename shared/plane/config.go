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
	KindSkill    = "skill"    // Body is a SkillSpec
	KindScene    = "scene"    // Body is a Scene; the ID is that of SceneID
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

// The dialects: what an upstream is asked in.
const (
	DialectChat           = "chat"           // OpenAI's chat completions
	DialectNative         = "native"         // the gateway's own shapes, JSON or an event stream, under the gateway's own paths
	DialectTranscriptions = "transcriptions" // OpenAI's audio/transcriptions
	DialectSpeech         = "speech"         // OpenAI's audio/speech
	DialectImages         = "images"         // OpenAI's images/generations
	DialectTranslate      = "libretranslate" // LibreTranslate's translate and languages
	DialectSearch         = "searxng"        // SearXNG's search with format=json
	DialectInfer          = "kserve"         // the Open Inference Protocol of KServe, version 2
)

// Dialects are all dialects.
func Dialects() []string {
	return []string{
		DialectChat, DialectNative, DialectTranscriptions, DialectSpeech, DialectImages, DialectTranslate, DialectSearch, DialectInfer,
	}
}

// UpstreamSpec is a model server as an operator configured it. It carries no secret: Credential names an entry of the
// node's own configuration, so upstream keys are neither published nor stored by the control plane.
type UpstreamSpec struct {
	ID         string `json:"id"`
	Dialect    string `json:"dialect"`         // one of the Dialect words
	BaseURL    string `json:"base_url"`        // up to and including the version, "http://127.0.0.1:8000/v1"
	Model      string `json:"model"`           // the name the upstream knows the model by
	Credential string `json:"credential"`      // name of a credential on the node; empty sends none
	Simulator  bool   `json:"simulator"`       // a simulator: labelled wherever it shows, refuses live keys
	Voice      string `json:"voice,omitempty"` // of the dialect speech: the server's name of the voice that speaks; empty is "alloy"

	// Infer is what a server of the dialect kserve needs to know beyond the protocol: the JSON that [ParseInfer] reads. It is
	// text so that specs can be compared.
	Infer string `json:"infer,omitempty"`

	// Parameters are the members of a chat completion request that a server of the dialect chat is passed beyond those of OpenAI's API that
	// every one is: what [ParseParameters] reads, "llama.cpp service_tier". Text, as Infer is.
	Parameters string `json:"parameters,omitempty"`

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
	Skills    map[string]SkillSpec
}
