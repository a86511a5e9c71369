package wire

import "time"

// Account answers GET and DELETE /dev/account and POST /dev/account/restore.
type Account struct {
	Developer   Developer  `json:"developer"`
	RequestedAt *time.Time `json:"deletion_requested_at"`
	DeleteAt    *time.Time `json:"delete_at"` // when the account is removed; null if it is not going to be
}

// DeleteAccountRequest is the body of DELETE /dev/account.
type DeleteAccountRequest struct {
	Password string `json:"password" bind:"max=128,secret"` // of accounts that have one
}

// AccountExport answers GET /dev/account/export: everything that is kept of an account but secrets.
type AccountExport struct {
	Account      Account          `json:"account"`
	ExportedAt   time.Time        `json:"exported_at"`
	Complete     bool             `json:"complete"` // false when a list is so long that its oldest entries are missing
	GoogleLinked bool             `json:"google_linked"`
	SecondFactor TOTPState        `json:"second_factor"`
	Sessions     []SessionInfo    `json:"sessions"`
	Apps         []AppDetail      `json:"apps"`
	DarwinTokens []DarwinToken    `json:"darwin_tokens"`
	KeyReads     []KeyRead        `json:"key_reads"`
	Usage        []ExportedUsage  `json:"usage"`
	Cameras      []ExportedCamera `json:"cameras"`
}

// ExportedCamera is a calibration that was made in the playground.
type ExportedCamera struct {
	SessionID    string    `json:"session_id"`
	CameraID     string    `json:"camera_id"`
	Homography   []float64 `json:"homography"` // image in pixels to floor in metres, three rows
	Inliers      int64     `json:"inliers"`
	TotalPoints  int64     `json:"total_points"`
	CalibratedAt time.Time `json:"calibrated_at"`
}

// KeyRead is a record of a key that was shown again.
type KeyRead struct {
	KeyID string    `json:"key_id"`
	At    time.Time `json:"at"`
}

// ExportedUsage is the usage of a UTC day by key, model, task and status.
type ExportedUsage struct {
	Day    string `json:"day"`    // 2026-01-05
	AppID  string `json:"app_id"` // empty for a Darwin token
	KeyID  string `json:"key_id"`
	Model  string `json:"model"`
	Task   string `json:"task"`
	Status int64  `json:"status"`
	Counters
}
