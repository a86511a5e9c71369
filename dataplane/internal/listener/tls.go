package listener

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Certificate is a TLS certificate that follows its files. New connections get the newest one that could be read.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]

	mu    sync.Mutex
	stamp [2]stamp // of the files when they were last tried
}

// stamp tells versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// OpenCertificate reads a certificate chain and its key, both in PEM.
func OpenCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	return c, c.Reload()
}

// Reload reads the files. When they do not make a certificate, the one before stays.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = c.stamps()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read TLS certificate: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

// Leaf returns the certificate itself, without its chain.
func (c *Certificate) Leaf() *x509.Certificate { return c.current.Load().Leaf }

// Run reads the files again when they change and whenever something comes from again, until ctx ends.
func (c *Certificate) Run(ctx context.Context, again <-chan os.Signal, log *slog.Logger) error {
	tick := time.NewTicker(certificateEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if !c.changed() {
				continue
			}
		case <-again:
		}
		if err := c.Reload(); err != nil {
			log.Error("TLS certificate stays as it was", slog.Any("error", err), slog.Time("expires", c.Leaf().NotAfter))
			continue
		}
		log.Info("TLS certificate is read anew", slog.Time("expires", c.Leaf().NotAfter))
	}
}

func (c *Certificate) changed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stamps() != c.stamp
}

func (c *Certificate) stamps() (s [2]stamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// config is for HTTP/1.1 over TLS 1.2 or newer; which ciphers and curves is left to crypto/tls.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// secure makes a connection speak TLS. The watch goes on looking at the socket under it.
func (c *Conn) secure(config *tls.Config) {
	c.raw = c.Conn
	c.tls = tls.Server(c.Conn, config)
	c.Conn = c.tls
}

// handshake completes TLS, within the deadline that the server has set for the first byte. A failure is the end of the
// connection without an answer, except for clients that speak plain HTTP.
func (c *Conn) handshake() error {
	err := c.tls.HandshakeContext(context.Background())
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && e.Conn != nil && isText(e.RecordHeader) {
		const body = `{"detail":"This port speaks HTTPS."}`
		_ = e.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = fmt.Fprintf(e.Conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return io.EOF
}

// isText reports whether the first bytes of a connection begin a plain request.
func isText(b [5]byte) bool {
	for _, c := range b {
		if c != ' ' && c != '/' && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
