package export

import (
	"context"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
)

// Bounds of a document.
const (
	KeysMax  = 20_000 // keys and tokens, newest first
	ReadsMax = 10_000 // records of who read a key, newest first
	UsageMax = 50_000 // rows of usage, newest first
)

// Document is what is kept of an account. Its lists are newest first.
type Document struct {
	Developer    account.Developer
	Deletion     *account.Deletion // nil if none is scheduled
	Google       bool              // whether an account at Google belongs to it
	SecondFactor account.TOTP      // without its secret
	Sessions     []account.Session
	Apps         []app.App
	Keys         []app.Key // of the apps; without an app, Darwin tokens
	Reads        []Read
	Usage        []Usage
	Cameras      []Camera
	Complete     bool // whether no list was cut at its bound
}

// Read is a record of a key that was shown again.
type Read struct {
	KeyID string
	At    time.Time
}

// Camera is a calibration: how a camera of a scene sees the floor.
type Camera struct {
	SessionID    string
	CameraID     string
	Homography   []float64 // image in pixels to floor in metres, three rows
	Inliers      int64     // of TotalPoints
	TotalPoints  int64
	CalibratedAt time.Time
}

// Usage is the calls of a UTC day by key, model, task and status.
type Usage struct {
	Day       time.Time
	AppID     string // the nil UUID for a Darwin token
	KeyID     string
	Model     string
	Task      string
	Status    int64
	Calls     int64
	Errors    int64
	TokensIn  int64
	TokensOut int64
}

// Reader is what this package asks of storage.
type Reader interface {
	// Export returns account.ErrNoDeveloper if there is none with the id.
	Export(ctx context.Context, developerID string) (Document, error)
}
