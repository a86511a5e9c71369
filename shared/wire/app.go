package wire

import (
	"encoding/json"
	"time"
)

// CreateAppRequest is the body of POST /dev/apps.
type CreateAppRequest struct {
	Name        string     `json:"name" bind:"required,min=1,max=120"`
	Description string     `json:"description" bind:"max=2000"`
	Environment string     `json:"environment" bind:"enum=test|live,default=test"`
	Families    []string   `json:"families" bind:"max=16,enum=biometrix|darwin|emoticore"`
	Tasks       []string   `json:"tasks" bind:"max=64"`
	RateLimit   int64      `json:"rate_limit" bind:"min=1,max=1000000,default=100"` // calls per minute over all keys of the app
	ExpiresAt   *time.Time `json:"expires_at"`
	OrgID       *string    `json:"org_id"` // the organization that is to own it; without one, the developer does
}

// UpdateAppRequest is the body of PUT /dev/apps/{app_id}: what is absent or null stays as it is.
type UpdateAppRequest struct {
	Name        *string   `json:"name" bind:"min=1,max=120"`
	Description *string   `json:"description" bind:"max=2000"`
	Environment *string   `json:"environment" bind:"enum=test|live"`
	Families    *[]string `json:"families" bind:"max=16,enum=biometrix|darwin|emoticore"`
	Tasks       *[]string `json:"tasks" bind:"max=64"`
	RateLimit   *int64    `json:"rate_limit" bind:"min=1,max=1000000"`
	Active      *bool     `json:"active"`
}

// App is an application.
type App struct {
	AppID       string     `json:"app_id"`
	OrgID       *string    `json:"org_id"` // the organization that owns it, or null
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Environment string     `json:"environment"`
	Families    []string   `json:"families"`
	Tasks       []string   `json:"tasks"`
	RateLimit   int64      `json:"rate_limit"`
	Active      bool       `json:"active"`
	ExpiresAt   *time.Time `json:"expires_at"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

// AppList answers GET /dev/apps.
type AppList struct {
	Apps []App `json:"apps"`
}

// AppDetail answers GET /dev/apps/{app_id}.
type AppDetail struct {
	App
	Keys []Key `json:"keys"`
}

// AppUpdated answers PUT /dev/apps/{app_id}.
type AppUpdated struct {
	App
	ConfigVersion uint64   `json:"config_version"`    // the nodes that acknowledged it serve by the app as it is
	Receipt       *Receipt `json:"receipt,omitempty"` // nil with wait=none
}

// AppDeleted answers DELETE /dev/apps/{app_id}.
type AppDeleted struct {
	AppID         string   `json:"app_id"`
	Deleted       bool     `json:"deleted"`
	ConfigVersion uint64   `json:"config_version"`
	Receipt       *Receipt `json:"receipt,omitempty"` // nil with wait=none
}

// Receipt says which gateway nodes serve by a change.
type Receipt struct {
	Complete bool          `json:"complete"`  // no node is missing
	WaitedMS int64         `json:"waited_ms"` // for the nodes
	Nodes    []NodeApplied `json:"nodes"`
	Missing  []NodeMissing `json:"missing"`
	Detail   string        `json:"detail,omitempty"` // how far the change has come when a node is missing, or why nothing is known
}

// NodeApplied is a node that serves by a change.
type NodeApplied struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	MS      int64  `json:"ms"` // from the change to when it was seen
}

// NodeMissing is a node that is not known to serve by a change. One that is not live was not waited for.
type NodeMissing struct {
	Name string `json:"name"`
	Live bool   `json:"live"`
}

// Key is an API key without its value.
type Key struct {
	KeyID       string     `json:"key_id"`
	Environment string     `json:"environment"`
	Hint        string     `json:"hint"`
	Status      string     `json:"status"` // active, revoked
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
	RevokedAt   *time.Time `json:"revoked_at"`

	PreviousExpiresAt *time.Time `json:"previous_expires_at"` // until when an earlier value works; null when none does
}

// RegenerateKeyRequest is the body of POST /dev/apps/{app_id}/keys/{key_id}/regenerate, which may be empty.
type RegenerateKeyRequest struct {
	Grace int64 `json:"grace" bind:"min=0,max=604800,default=0"` // seconds that earlier values go on working
}

// NewKey answers the creation and the regeneration of a key: the only answers, with [RevealedKey], that hold its value.
type NewKey struct {
	KeyID         string    `json:"key_id"`
	AppID         string    `json:"app_id"`
	Environment   string    `json:"environment"`
	Key           string    `json:"key"`
	Hint          string    `json:"hint"`
	CreatedAt     time.Time `json:"created_at"`
	ConfigVersion uint64    `json:"config_version"` // the nodes that acknowledged it know the key

	PreviousExpiresAt *time.Time `json:"previous_expires_at"` // until when the value before works; null when it does not
	Receipt           *Receipt   `json:"receipt,omitempty"`   // nil with wait=none
}

// KeyRevoked answers DELETE /dev/apps/{app_id}/keys/{key_id} and DELETE /dev/darwin-tokens/{key_id}.
type KeyRevoked struct {
	KeyID         string    `json:"key_id"`
	AppID         string    `json:"app_id,omitempty"`
	Status        string    `json:"status"` // always "revoked"
	RevokedAt     time.Time `json:"revoked_at"`
	ConfigVersion uint64    `json:"config_version"`
	Receipt       *Receipt  `json:"receipt,omitempty"` // nil with wait=none
}

// RevealedKey answers GET /dev/playground/key-for-stream.
type RevealedKey struct {
	KeyID string `json:"key_id"`
	AppID string `json:"app_id"`
	Key   string `json:"key"`
}

// DarwinToken is a Darwin token without its value. Metadata is the object it was created with.
type DarwinToken struct {
	KeyID      string          `json:"key_id"`
	Name       string          `json:"name"`
	Hint       string          `json:"hint"`
	Status     string          `json:"status"`
	Scopes     []string        `json:"scopes"`
	Metadata   json.RawMessage `json:"metadata"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  *time.Time      `json:"expires_at"`
	LastUsedAt *time.Time      `json:"last_used_at"`
	RevokedAt  *time.Time      `json:"revoked_at"`
}

// DarwinTokenList answers GET /dev/darwin-tokens.
type DarwinTokenList struct {
	Tokens []DarwinToken `json:"tokens"`
}

// NewDarwinToken answers POST /dev/darwin-tokens.
type NewDarwinToken struct {
	DarwinToken
	Key           string   `json:"key"`
	ConfigVersion uint64   `json:"config_version"`
	Receipt       *Receipt `json:"receipt,omitempty"` // nil with wait=none
}

// Counters are the four numbers that usage is told in.
type Counters struct {
	Calls     int64 `json:"calls"`
	Errors    int64 `json:"errors"` // calls that ended with a status >= 400 or broke off
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
}

// AppUsage answers GET /dev/apps/{app_id}/usage.
type AppUsage struct {
	AppID string `json:"app_id"`
	Usage
}

// AccountUsage answers GET /dev/usage.
type AccountUsage struct {
	ByApp []AppGroup `json:"by_app"`
	Usage
}

// Usage is what was used in a range of time. Drift is how far what is stored is from what the nodes say they counted; anything
// but 0 is a defect.
type Usage struct {
	Days        int      `json:"days"`
	Bucket      string   `json:"bucket"`       // "minute", "hour" or "day"
	StepSeconds int64    `json:"step_seconds"` // between two points; days that the clock is changed on have another length
	TimeZone    string   `json:"time_zone"`
	Totals      Counters `json:"totals"`
	Latency
	Series   []UsagePoint  `json:"series"`
	ByKey    []KeyUsage    `json:"by_key"`
	ByModel  []ModelUsage  `json:"by_model"`
	ByTask   []TaskUsage   `json:"by_task"`
	ByStatus []StatusUsage `json:"by_status"`
	BySource []SourceUsage `json:"by_source"`
	Drift    int64         `json:"drift"`
}

// Latency is how long answers that were sent whole took, to their first event (of streams) and to their end.
type Latency struct {
	TTFT Percentiles `json:"ttft_ms"`
	Took Percentiles `json:"took_ms"`
}

// Percentiles are in milliseconds, each within 2 %; without calls they are 0.
type Percentiles struct {
	Calls int64 `json:"calls"` // that they are of
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P95   int64 `json:"p95"`
	P99   int64 `json:"p99"`
}

// UsagePoint is one bucket of the series. At is its start.
type UsagePoint struct {
	At time.Time `json:"at"`
	Counters
	Latency
}

// AppGroup is the usage of one app. AppID is empty for Darwin tokens and "other" for the apps beyond the most used.
type AppGroup struct {
	AppID string `json:"app_id"`
	Counters
	Latency
}

// KeyUsage is the usage of one key; KeyID is "other" for the keys beyond the most used.
type KeyUsage struct {
	KeyID string `json:"key_id"`
	Counters
	Latency
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model string `json:"model"`
	Counters
	Latency
}

// TaskUsage is the usage of one task.
type TaskUsage struct {
	Task string `json:"task"`
	Counters
	Latency
}

// StatusUsage is the usage that ended with one HTTP status, with the number of calls by how they ended.
type StatusUsage struct {
	Status int              `json:"status"`
	Ends   map[string]int64 `json:"ends"`
	Counters
	Latency
}

// SourceUsage is the usage whose tokens were counted by one source: "provider", "counted", "estimated", or "none".
type SourceUsage struct {
	Source string `json:"source"`
	Counters
}

// StreamKey answers GET /dev/config/stream-key.
type StreamKey struct {
	Token     string `json:"token"`
	TokenType string `json:"token_type"` // always "bearer"
	ExpiresIn int64  `json:"expires_in"` // seconds
	AppID     string `json:"app_id"`
	KeyID     string `json:"key_id"` // the key whose scope, limits and life the token shares

	Receipt *Receipt `json:"receipt,omitempty"` // which nodes know the key; nil with wait=none
}
