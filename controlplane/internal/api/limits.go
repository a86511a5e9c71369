package api

import (
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/playground"
)

// Bounds of requests.
const (
	BodyBytesMax      = 256 << 10 // any body
	TokenBodyBytesMax = 16 << 10  // the free-form object of a Darwin token, which is stored

	MetricsBodyBytesMax = 16 << 10 // the names of public counters
	TrackBodyBytesMax   = 1 << 10  // the name of one
)

// Bounds of stream tokens, for each developer. One is good for minutes.
const (
	StreamKeysPerMinute = 30
	StreamKeysBurst     = 10
)

// Bounds of exports of an account, for each developer.
const (
	ExportsPerMinute = 2
	ExportsBurst     = 5
)

// Bounds of the downloads of images.
const (
	DownloadsMax         = 64               // at a time
	DownloadPieceTimeout = 30 * time.Second // to take some 32 KiB
	DownloadTimeout      = 6 * time.Hour    // to take all of it
	DownloadRetryAfter   = 30 * time.Second
)

// Bounds of the playground.
const (
	PlaygroundReadTimeout    = time.Minute      // to send the body of a call
	PlaygroundPieceTimeout   = 30 * time.Second // to take some 32 KiB of the answer
	PlaygroundAnswerBytesMax = 32 << 20         // of an answer that does not say its length
)

// RequestTimeout is how long any other answer may take to be made.
const RequestTimeout = 15 * time.Second

// Bounds are those of a request for an operation.
type Bounds struct {
	BodyBytes int64
	Timeout   time.Duration // to make the answer
}

// BoundsOf are the bounds of an operation.
func BoundsOf(operationID string) Bounds {
	if strings.HasPrefix(operationID, "playground") && operationID != "playgroundMulticamCalibrate" {
		return Bounds{playground.BodyBytesMax, playground.CallTimeout}
	}
	return Bounds{BodyBytesMax, RequestTimeout}
}
