package wire

// AgentRequest is the body of POST /api/v1/agent. The gateway parses it with its own scanner; the tags describe the slow
// path, which alone decides what is an error.
type AgentRequest struct {
	Prompt       string    `json:"prompt" bind:"required,min=1"`
	Model        string    `json:"model" bind:"default=Darwin"`
	Stream       bool      `json:"stream"`
	Messages     []Message `json:"messages" bind:"max=1000"`
	SystemPrompt *string   `json:"system_prompt"`
	ImageB64     *string   `json:"image_b64"`
	Temperature  float64   `json:"temperature" bind:"min=0,max=2,default=0.7"`
	MaxTokens    int64     `json:"max_tokens" bind:"min=1,max=1000000,default=2048"`
}

// Message is a prior turn of a conversation.
type Message struct {
	Role    string `json:"role" bind:"required,enum=system|user|assistant"`
	Content string `json:"content" bind:"required"`
}

// GenerateRequest is the body of POST /api/v1/generate and POST /api/v1/stream.
type GenerateRequest struct {
	Family       string         `json:"family" bind:"default=darwin"`
	Task         string         `json:"task" bind:"default=conversation"`
	Prompt       string         `json:"prompt" bind:"required,min=1"`
	MaxTokens    int64          `json:"max_tokens" bind:"min=1,max=1000000,default=512"`
	SystemPrompt string         `json:"system_prompt"`
	Kwargs       map[string]any `json:"kwargs"`
}

// TextAnswer is an agent response of type "text".
type TextAnswer struct {
	Type    string     `json:"type"` // always "text"
	Text    string     `json:"text"`
	Model   string     `json:"model"`
	Usage   TokenUsage `json:"usage"`
	Backend string     `json:"backend"` // "upstream" or "simulator"
}

// ImageAnswer is an agent response of type "image", and the one event of its stream.
type ImageAnswer struct {
	Type     string     `json:"type"`      // always "image"
	ImageB64 string     `json:"image_b64"` // PNG
	Model    string     `json:"model"`
	Usage    TokenUsage `json:"usage"`
	Backend  string     `json:"backend"`
}

// TokenUsage counts tokens and says who counted: "provider", "counted" or "estimated".
type TokenUsage struct {
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	Source    string `json:"source"`
}

// ErrorEvent is the typed event that precedes [DONE] when a stream failed after its first event.
type ErrorEvent struct {
	Type   string `json:"type"` // always "error"
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// LimitReachedEvent is the typed event that precedes [DONE] when a limit of model tokens ended a stream. What came before it is part of
// the answer and was counted.
type LimitReachedEvent struct {
	Type         string     `json:"type"`   // always "limit_reached"
	Status       int        `json:"status"` // 429
	Detail       string     `json:"detail"`
	Limit        string     `json:"limit"` // its name in the headers
	Usage        TokenUsage `json:"usage"`
	ResetSeconds int64      `json:"reset_seconds"` // until tokens are free again
}

// ModelCatalog answers GET /api/v1.
type ModelCatalog struct {
	Object  string  `json:"object"`  // always "list"
	Version string  `json:"version"` // always "v1"
	Models  []Model `json:"models"`
}

// Models answers GET /api/v1/models: what the key may use.
type Models struct {
	Models []Model `json:"models"`
}

// Model is a model and how it is served. Backend is "upstream", "simulator" or "none"; Detail says what to configure when
// it is not available.
type Model struct {
	ID        string   `json:"id"`
	Family    string   `json:"family"`
	Tasks     []string `json:"tasks"`
	Backend   string   `json:"backend"`
	Available bool     `json:"available"`
	Streaming bool     `json:"streaming"`
	Detail    *string  `json:"detail"`
}

// Health answers GET /api/v1/health.
type Health struct {
	Status  string            `json:"status"` // "ok", or "degraded" when the config is stale or the node drains
	Node    string            `json:"node"`
	Version string            `json:"version"`
	Config  ConfigHealth      `json:"config"`
	Models  map[string]string `json:"models"` // model -> backend
}

// ConfigHealth says how fresh a node's configuration is.
type ConfigHealth struct {
	Epoch      uint64  `json:"epoch"`
	Version    uint64  `json:"version"`
	AgeSeconds float64 `json:"age_seconds"` // since the control plane was last heard
	Connected  bool    `json:"connected"`
}
