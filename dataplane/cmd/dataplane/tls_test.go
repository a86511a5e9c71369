package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/testkit"
)

// TestANodeSpeaksTLS serves both hosts with a certificate, and with another one after SIGHUP.
func TestANodeSpeaksTLS(t *testing.T) {
	c := newControl(t)
	_, _ = publishAll(t, c, model(t, nil).URL)
	cfg, dir := config(t, c), t.TempDir()
	cfg.TLSCertFile, cfg.TLSKeyFile = testkit.Certificate(t, dir, "first")
	stop := runNode(t, cfg)
	defer stop()
	name := func(address string) string {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprint(conn, "GET /api/v1/health HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("got %s, %v", answer, err)
		}
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	for _, address := range []string{cfg.Listen, cfg.DarwinListen} {
		if got := name(address); got != "first" {
			t.Errorf("%s: got %s", address, got)
		}
	}
	testkit.Certificate(t, dir, "second")
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the new certificate", func() bool { return name(cfg.Listen) == "second" })
}
