package link

import (
	"errors"
	"maps"
	"net"
	"time"
)

var errForgotten = errors.New("this node was forgotten, and its certificate is not good any more: move the directory of its part of the quota " +
	"ledger away and join anew, with a token of a voter")

// banned notes whose connection it is, and reports whether that node was forgotten.
func (s *Server) banned(c net.Conn, number uint64) bool {
	s.mu.Lock()
	s.conns[c] = number
	s.mu.Unlock()
	return s.o.Banned != nil && s.o.Banned(number)
}

// explain tells a forgotten node that it was. Raft has no message for that.
func (s *Server) explain(c net.Conn, protocol string) {
	_ = c.SetWriteDeadline(time.Now().Add(writeTime))
	switch protocol {
	case protocolFrames:
		_, _ = c.Write(jsonMessage(kindWelcome, Leadership{Refused: errForgotten.Error()}))
	case protocolCommand:
		_, _ = c.Write(jsonMessage(kindCommand, struct {
			Error string `json:"error"`
		}{errForgotten.Error()}))
	}
}

// Sweep closes the connections of nodes that were forgotten since they were made.
func (s *Server) Sweep() {
	if s.o.Banned == nil {
		return
	}
	s.mu.Lock()
	conns := maps.Clone(s.conns)
	s.mu.Unlock()
	for c, number := range conns {
		if number != 0 && s.o.Banned(number) {
			s.refuse(c, RefusedBanned, errForgotten)
			_ = c.Close()
		}
	}
}
