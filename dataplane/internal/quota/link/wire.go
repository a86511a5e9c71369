package link

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Protocols, as TLS negotiates them. The number grows when a message changes its meaning.
const (
	protocolRaft    = "modelgate-raft/1"
	protocolFrames  = "modelgate-quota/1"
	protocolCommand = "modelgate-quota-command/1"
	protocolJoin    = "modelgate-quota-join/1"
)

// Messages are a length of four bytes (big-endian, of what follows), a kind of one byte, and a body.
const (
	kindWelcome = 1 // server: JSON of Leadership, first and when it changes
	kindFrame   = 2 // node
	kindReply   = 3 // server
	kindRecall  = 4 // server
	kindCommand = 5 // both ways: JSON
)

var errMessage = errors.New("malformed message")

// appendMessage appends a message whose body add appends.
func appendMessage(b []byte, kind byte, add func([]byte) []byte) []byte {
	from := len(b)
	b = append(b, 0, 0, 0, 0, kind)
	b = add(b)
	binary.BigEndian.PutUint32(b[from:], lengthOf(len(b)-from-4))
	return b
}

func lengthOf(n int) uint32 {
	if n > messageBytesMax {
		panic("BUG: a message is larger than may be received")
	}
	return uint32(n)
}

// readMessage reads a message of at most so many bytes. The body is valid until the next call with the same buffer.
func readMessage(r io.Reader, buf *[]byte, most uint32) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || n > most {
		return 0, nil, fmt.Errorf("%w: %d bytes", errMessage, n)
	}
	if need := int(n) - 1; cap(*buf) < need {
		*buf = make([]byte, need)
	}
	body = (*buf)[:n-1]
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return head[4], body, nil
}

func jsonMessage(kind byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a message is not JSON: " + err.Error())
	}
	return appendMessage(nil, kind, func(b []byte) []byte { return append(b, text...) })
}

// Leadership says who leads, as far as a node knows.
type Leadership struct {
	Leading bool     `json:"leading"`           // the one who says this
	Leader  string   `json:"leader,omitempty"`  // address; empty if nobody leads
	Peers   []string `json:"peers,omitempty"`   // addresses of all members of the raft group
	Refused string   `json:"refused,omitempty"` // why the node that is told this gets nothing; the connection ends
}

// Address joins a node's ID and where it listens.
func Address(node, hostPort string) string { return node + "@" + hostPort }

// SplitAddress is the reverse of Address. The node is empty in the addresses of a configuration file.
func SplitAddress(address string) (node, hostPort string) {
	node, hostPort, found := strings.Cut(address, "@")
	if !found {
		return "", address
	}
	return node, hostPort
}
