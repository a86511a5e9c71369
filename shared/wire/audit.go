package wire

import (
	"encoding/json"
	"time"
)

// AuditRecord tells of a change, or of the reading of a secret.
type AuditRecord struct {
	Seq       int64            `json:"seq"` // its place in the log: 1, 2, 3 and so on
	At        time.Time        `json:"at"`
	Actor     *string          `json:"actor"` // developer id; null for an operator or somebody unknown
	SessionID *string          `json:"session_id"`
	Address   *string          `json:"address"`
	Operation string           `json:"operation"`
	Kind      string           `json:"kind"` // of the target
	Target    string           `json:"target"`
	Before    *json.RawMessage `json:"before"`
	After     *json.RawMessage `json:"after"`
	Hash      string           `json:"hash"` // SHA-256 over the hash of the record before and this one
}

// AuditPage answers GET /dev/audit.
type AuditPage struct {
	Records    []AuditRecord `json:"records"`
	NextCursor *int64        `json:"next_cursor"`
}

// AuditVerdict answers GET /dev/audit/verify.
type AuditVerdict struct {
	Intact    bool    `json:"intact"`
	Checked   int64   `json:"checked"`
	Head      int64   `json:"head"`
	Hash      *string `json:"hash"`
	BrokenAt  *int64  `json:"broken_at"`
	Reason    *string `json:"reason"`
	NextAfter *int64  `json:"next_after"`
}
