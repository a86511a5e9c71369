package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// ErrCluster is a certificate of another cluster.
var ErrCluster = errors.New("the certificate belongs to another cluster")

// ServerTLS returns what a listener uses. Connections of the protocols named open need no certificate; all others need one of this
// cluster. Sessions are not resumed, so every connection proves its identity.
func (id *Identity) ServerTLS(protocols []string, open ...string) *tls.Config {
	shut := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.cert.Load(), nil },
		ClientAuth:     tls.RequireAndVerifyClientCert, ClientCAs: id.pool,
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := id.PeerOf(s)
			return err
		},
	}
	door := shut.Clone()
	door.ClientAuth, door.ClientCAs, door.VerifyConnection, door.NextProtos = tls.NoClientCert, nil, nil, open
	outer := shut.Clone()
	outer.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		for _, p := range h.SupportedProtos {
			if slices.Contains(open, p) {
				return door, nil
			}
		}
		return shut, nil
	}
	return outer
}

// ClientTLS returns what a dialler uses that wants to reach the node, or any node of the cluster if node is empty.
func (id *Identity) ClientTLS(node, protocol string) *tls.Config {
	if node == "" {
		node = id.Cluster
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, RootCAs: id.pool, ServerName: node,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return id.cert.Load(), nil },
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := id.PeerOf(s)
			return err
		},
	}
}

// PeerOf returns who is at the other end of a connection.
func (id *Identity) PeerOf(s tls.ConnectionState) (Peer, error) {
	if len(s.PeerCertificates) == 0 {
		return Peer{}, errors.New("the connection has no certificate")
	}
	p, err := peerOf(s.PeerCertificates[0])
	if err == nil && p.Cluster != id.Cluster {
		err = ErrCluster
	}
	return p, err
}

// joinTLS trusts nobody but nodes of the token's authority.
func (t *Token) joinTLS(protocol string) (*tls.Config, error) {
	ca, err := x509.ParseCertificate(t.CA)
	if err != nil {
		return nil, fmt.Errorf("read certificate in the token: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, RootCAs: pool, ServerName: t.Cluster}, nil
}
