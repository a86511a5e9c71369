package playground

import (
	"time"

	"modelgate.internal/shared/plane"
)

// Bounds of calls.
const (
	BodyBytesMax         = 16 << 20         // of a call, which may hold images or audio
	BodiesBytesMax       = 128 << 20        // of all calls that are being read or sent; it takes about four times that in memory
	CallsMax             = 256              // at a time
	CallsPerDeveloperMax = 8                // at a time
	RetryAfter           = 2 * time.Second  // when there is no room for a call
	AnswerTimeout        = 2 * time.Minute  // for the head of the gateway's answer
	CallTimeout          = 10 * time.Minute // for all of a call
	SilenceMax           = time.Minute      // of an answer that has begun; the gateway breaks its own silence sooner
	DialTimeout          = 3 * time.Second
	ConnectionsIdleMax   = 32 // kept open to the gateway
	PieceBytes           = 32 << 10
)

// Bounds of calibrations.
const (
	CamerasPerDeveloperMax = 256
	CameraNameMax          = 128                   // characters of a session_id or camera_id
	CamerasKept            = plane.CalibrationKept // since the calibration
	ViewsMax               = 64                    // of a call, whose calibrations are looked up
)
