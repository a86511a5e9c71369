package link

import (
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Bounds of the network.
const (
	messageBytesMax  = ledger.FrameBytesMax + 16
	commandBytesMax  = 64 << 10
	connsMax         = 2 * ledger.NodesMax // at a listener, those that shake hands included
	raftConnsPending = 64
	outboxMax        = 256  // replies and recalls that wait for one node; more are lost
	framesPerSecond  = 1000 // of one node; a faster one is read more slowly
	framesBurst      = 1000
	addressBytesMax  = 512

	handshakeTime = 5 * time.Second
	dialTime      = time.Second
	helloTime     = 5 * time.Second
	writeTime     = 2 * time.Second
	idleTime      = 30 * time.Second        // a node that is connected and sends nothing
	silenceMax    = 1500 * time.Millisecond // without a reply: three keep-alives of a node whose sessions live 2 s
	redialFirst   = 50 * time.Millisecond
	redialMost    = 300 * time.Millisecond
	commandTime   = 15 * time.Second
)

// Why connections and frames are refused: the label of the count.
const (
	RefusedHandshake = "certificate" // no certificate of this cluster
	RefusedFull      = "connections"
	RefusedRole      = "role"    // the certificate's role may not do this
	RefusedMessage   = "message" // malformed or too large
	RefusedNode      = "node"    // a frame in another node's name
	RefusedBusy      = "busy"    // the ledger has too much to do
	RefusedBanned    = "banned"  // the certificate's node was forgotten
	RefusedToken     = "token"
)
