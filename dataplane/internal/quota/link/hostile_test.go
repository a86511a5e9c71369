package link_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
)

// speak connects with the identity's certificate, says something, and waits until the other end has had enough. It returns what that said.
func (h *hub) speak(id *identity.Identity, protocol string, message []byte) []byte {
	h.t.Helper()
	d := tls.Dialer{Config: id.ClientTLS("", protocol)}
	conn, err := d.DialContext(h.t.Context(), "tcp", h.address)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = conn.Write(message)
	said, err := io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		h.t.Error("the connection is kept")
	}
	return said
}

func message(kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
	return append(append(b, kind), body...)
}

// Whoever sends what no honest node would is cut off and counted, and the ledger hears nothing of it.
func TestHostileMessages(t *testing.T) {
	const kindFrame, frames, raft = 2, "modelgate-quota/1", "modelgate-raft/1"
	h := newHub(t)
	id := h.join(identity.Client)
	changed := func(change func(f *ledger.Frame)) []byte {
		f := frame(id.Number(), 1)
		change(&f)
		return message(kindFrame, ledger.AppendFrame(nil, &f))
	}
	for _, c := range []struct {
		what, protocol, reason string
		message                []byte
	}{
		{"an unknown limit", frames, link.RefusedMessage, changed(func(f *ledger.Frame) { f.Records[0].ID.Kind = 77 })},
		{"an absurd wish", frames, link.RefusedMessage, changed(func(f *ledger.Frame) { f.Records[0].Hold = ledger.LimitMax + 1 })},
		{"an absurd use", frames, link.RefusedMessage, changed(func(f *ledger.Frame) { f.Records[0].Used = 1<<53 + 1 })},
		{"a negative number", frames, link.RefusedMessage, changed(func(f *ledger.Frame) { f.Records[0].Void = -1 })},
		{"no incarnation", frames, link.RefusedMessage, changed(func(f *ledger.Frame) { f.Incarnation = 0 })},
		{"another node's name", frames, link.RefusedNode, changed(func(f *ledger.Frame) { f.Node++ })},
		{"an unknown message", frames, link.RefusedMessage, message(99, nil)},
		{"half a frame", frames, link.RefusedMessage, message(kindFrame, []byte{1, 1})},
		{"a message of 4 GiB", frames, link.RefusedMessage, []byte{0xff, 0xff, 0xff, 0xff, kindFrame}},
		{"a client that votes", raft, link.RefusedRole, []byte{0}},
	} {
		t.Run(c.what, func(t *testing.T) {
			h.mu.Lock()
			clear(h.refused)
			h.mu.Unlock()
			h.speak(id, c.protocol, c.message)
			h.wantRefused(c.reason)
		})
	}
	if size := h.state.Size(); size.Nodes != 0 || size.Accounts != 0 {
		t.Errorf("the ledger has %+v", size)
	}
}

// A cluster's name in a certificate of somebody else's authority opens nothing.
func TestAForgedCertificate(t *testing.T) {
	h := newHub(t)
	stranger, err := identity.Begin(t.TempDir(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	config := stranger.ClientTLS("", "modelgate-quota/1")
	config.InsecureSkipVerify, config.VerifyConnection = true, nil // it does not care whom it reaches
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", h.address)
	if err == nil {
		f := frame(stranger.Number(), 1)
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = conn.Write(message(2, ledger.AppendFrame(nil, &f)))
		if said, _ := io.ReadAll(conn); len(said) > 0 {
			t.Errorf("it was told %q", said)
		}
		_ = conn.Close()
	}
	h.wantRefused(link.RefusedHandshake)
	if size := h.state.Size(); size.Nodes != 0 {
		t.Errorf("the ledger has %+v", size)
	}
}
