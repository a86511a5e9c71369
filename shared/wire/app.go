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

// AppDeleted answers DELETE /dev/apps/{app_id}.
type AppDeleted struct {
	AppID         string `json:"app_id"`
	Deleted       bool   `json:"deleted"`
	ConfigVersion uint64 `json:"config_version"`
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
}

// KeyRevoked answers DELETE /dev/apps/{app_id}/keys/{key_id} and DELETE /dev/darwin-tokens/{key_id}.
type KeyRevoked struct {
	KeyID         string    `json:"key_id"`
	AppID         string    `json:"app_id,omitempty"`
	Status        string    `json:"status"` // always "revoked"
	RevokedAt     time.Time `json:"revoked_at"`
	ConfigVersion uint64    `json:"config_version"`
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
	Key           string `json:"key"`
	ConfigVersion uint64 `json:"config_version"`
}

// Counters are the four numbers that usage is told in.
type Counters struct {
	Calls     int64 `json:"calls"`
	Errors    int64 `json:"errors"` // calls that ended with a status >= 400 or broke off
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
}

// AppUsage answers GET /dev/apps/{app_id}/usage. Drift is the difference between what the nodes counted and what is
// stored; anything but 0 is a defect.
type AppUsage struct {
	AppID    string        `json:"app_id"`
	Days     int           `json:"days"`
	Totals   Counters      `json:"totals"`
	Series   []UsagePoint  `json:"series"`
	ByKey    []KeyUsage    `json:"by_key"`
	ByModel  []ModelUsage  `json:"by_model"`
	ByTask   []TaskUsage   `json:"by_task"`
	ByStatus []StatusUsage `json:"by_status"`
	Drift    int64         `json:"drift"`
}

// UsagePoint is one bucket of the series: an hour for up to 3 days, else a UTC day. At is its start.
type UsagePoint struct {
	At time.Time `json:"at"`
	Counters
}

// KeyUsage is the usage of one key.
type KeyUsage struct {
	KeyID string `json:"key_id"`
	Counters
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model string `json:"model"`
	Counters
}

// TaskUsage is the usage of one task.
type TaskUsage struct {
	Task string `json:"task"`
	Counters
}

// StatusUsage is the usage that ended with one HTTP status.
type StatusUsage struct {
	Status int `json:"status"`
	Counters
}
