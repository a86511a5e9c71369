package quota_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/link"
)

// serial returns the number of the certificate that a node shows to those who join.
func (m *member) serial() string {
	m.t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"modelgate-quota-join/1"}}}
	conn, err := d.DialContext(m.t.Context(), "tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// A client's certificate is renewed by the leader and a voter's by itself, while both serve; both start again with the new ones.
func TestCertificatesAreRenewedWithoutARestart(t *testing.T) {
	one := found(t, false)
	client := one.join(identity.Client)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1100 * time.Millisecond))) // certificates end at full seconds
	for _, m := range []*member{one, client} {
		before := m.serial()
		a, err := m.ask(quota.Command{Op: quota.OpRenew})
		if err != nil || !strings.Contains(a.Text, "renewed until") {
			t.Fatalf("%+v, %v", a, err)
		}
		after := m.serial()
		if after == before {
			t.Error("the node shows the old certificate")
		}
		if err := m.admit(cell(1, 100)); err != nil {
			t.Error(err)
		}
		m.stop()
		m.start()
		m.ready()
		if m.serial() != after {
			t.Error("the new certificate was not kept")
		}
	}
	if _, err := client.ask(quota.Command{Op: quota.OpPeers}); err != nil { // over a connection with the new certificate
		t.Error(err)
	}
}

// Without an operator certificates are renewed in time.
func TestCertificatesAreRenewedInTime(t *testing.T) {
	one := found(t, false)
	client := one.join(identity.Client)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1100 * time.Millisecond)))
	for _, m := range []*member{one, client} {
		before := m.serial()
		m.stop()
		m.now = func() time.Time { return time.Now().Add(61 * 24 * time.Hour) }
		m.start()
		m.await("a new certificate", func() bool { return m.serial() != before })
	}
}

// A forgotten node gets nothing from any voter, with an explanation, and its connections are cut; also after voters start again.
func TestAForgottenNodeIsRefused(t *testing.T) {
	one := found(t, false)
	voters := []*member{one, one.join(identity.Voter), one.join(identity.Voter)}
	lost, other := one.join(identity.Client), one.join(identity.Client)
	node := lost.Identity().Node
	if err := lost.admit(cell(1, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := one.ask(quota.Command{Op: quota.OpForget, Node: node}); err == nil || !strings.Contains(err.Error(), "forget -force "+node) {
		t.Fatal(err)
	}
	a, err := one.ask(quota.Command{Op: quota.OpForget, Node: node, Force: true})
	if err != nil || !strings.Contains(a.Text, "its certificate is refused") {
		t.Fatalf("%+v, %v", a, err)
	}
	lost.await("the end of its connection", func() bool {
		a, err := one.ask(quota.Command{Op: quota.OpPeers})
		return err == nil && len(a.Clients) == 1
	})
	lost.await("the end of its leases", func() bool { return !lost.Leases().Live() })
	if err := lost.admit(cell(2, 100)); err == nil {
		t.Error("a forgotten node admits")
	}
	id, err := identity.Load(lost.dir)
	if err != nil {
		t.Fatal(err)
	}
	refusedBy := func(m *member) {
		t.Helper()
		m.await("the refusal", func() bool {
			var answer quota.Answer
			err := link.Command(t.Context(), id, m.address, quota.Command{Op: quota.OpPeers}, &answer)
			return err == nil && strings.Contains(answer.Error, "this node was forgotten") && answer.Members == nil
		})
	}
	for _, m := range voters {
		refusedBy(m)
	}
	if _, err := lost.ask(quota.Command{Op: quota.OpRenew}); err == nil || !strings.Contains(err.Error(), "this node was forgotten") {
		t.Errorf("its certificate was renewed: %v", err)
	}
	if err := other.admit(cell(2, 100)); err != nil {
		t.Error(err)
	}
	// From a snapshot and a log.
	if _, err := voters[2].ask(quota.Command{Op: quota.OpSnapshot}); err != nil {
		t.Error(err)
	}
	for _, m := range voters[1:] {
		m.stop()
		m.start()
		m.ready()
		refusedBy(m)
	}
	if a, err := one.ask(quota.Command{Op: quota.OpForget, Node: node}); err != nil || !strings.Contains(a.Text, "already") {
		t.Errorf("%+v, %v", a, err)
	}
}
