package nodeapi

import (
	"time"

	"modelgate.internal/controlplane/internal/node"
)

// Bounds of one request.
const (
	BodyBytesMax = 16 << 10           // of a join or an acknowledgement
	BodyWait     = 10 * time.Second   // for it to arrive
	UploadWait   = 30 * time.Second   // for a usage segment to arrive
	WriteWait    = 2 * time.Minute    // for a node to take what is written to its config stream: it may be writing a large batch to a slow disk
	RecheckEvery = node.RecognizedFor // how often the node of an open stream is recognized again
)
