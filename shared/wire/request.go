package wire

import "time"

// RequestPage answers GET /dev/apps/{app_id}/requests.
type RequestPage struct {
	Requests   []RequestEntry `json:"requests"`
	NextCursor *string        `json:"next_cursor"`
	KeptDays   int            `json:"kept_days"`
	LeftOut    int64          `json:"left_out"` // calls in these days that were too many at once to be kept
}

// RequestEntry is a call, without anything of its content.
type RequestEntry struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	KeyID     string    `json:"key_id"`
	Hint      *string   `json:"hint"` // the key masked; null once the key is deleted
	Endpoint  string    `json:"endpoint"`
	Task      string    `json:"task"`
	Model     string    `json:"model"`
	Status    int       `json:"status"`
	End       string    `json:"end"`
	TTFTMS    *int64    `json:"ttft_ms"` // null without a first event
	TookMS    int64     `json:"took_ms"`
	TokensIn  int64     `json:"tokens_in"`
	TokensOut int64     `json:"tokens_out"`
	Source    string    `json:"source"`
}
