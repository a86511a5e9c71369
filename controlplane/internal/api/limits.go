package api

import "time"

// Bounds of requests.
const (
	BodyBytesMax      = 256 << 10 // any body
	TokenBodyBytesMax = 16 << 10  // the free-form object of a Darwin token, which is stored

	MetricsBodyBytesMax = 16 << 10 // the names of public counters
	TrackBodyBytesMax   = 1 << 10  // the name of one
)

// Bounds of the downloads of images.
const (
	DownloadsMax         = 64               // at a time
	DownloadPieceTimeout = 30 * time.Second // to take some 32 KiB
	DownloadTimeout      = 6 * time.Hour    // to take all of it
	DownloadRetryAfter   = 30 * time.Second
)
