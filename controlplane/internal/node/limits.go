package node

import "time"

// Bounds of nodes and their identities.
const (
	LiveFor        = 30 * time.Second // after it was last seen a node counts as live: its name cannot be joined under
	RecognizedFor  = 5 * time.Second  // an answer about a secret is remembered; also how often a node's being seen is stored
	RecognizedMax  = 4096             // secrets remembered
	NameBytesMax   = 64
	BuildBytesMax  = 128
	TokenBytesMin  = 16                     // of a join token
	AwaitMax       = 2 * time.Second        // for the nodes to serve by a change; then the receipt says which do not
	AwaitBehind    = 250 * time.Millisecond // the same for a node that has lacked a change for AwaitMax already
	awaitPauseMin  = 4 * time.Millisecond
	awaitPauseMax  = 32 * time.Millisecond
	secretBytes    = 32
	bearerBytesMax = 256
)
