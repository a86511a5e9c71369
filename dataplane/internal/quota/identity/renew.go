package identity

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrOlder is a certificate that does not last longer than the one the node has.
var ErrOlder = errors.New("a new certificate would not last longer than the present one")

// Expires returns when the node's certificate ends.
func (id *Identity) Expires() time.Time { return id.cert.Load().Leaf.NotAfter }

// Due reports whether the node's certificate is to be renewed at the time.
func (id *Identity) Due(now time.Time) bool {
	leaf := id.cert.Load().Leaf
	return leaf.NotAfter.Sub(now) < leaf.NotAfter.Sub(leaf.NotBefore)/renewPart
}

// Signs reports whether this node has the authority's key.
func (id *Identity) Signs() bool { return id.sign != nil }

// Public returns the node's public key.
func (id *Identity) Public() ed25519.PublicKey {
	public, _ := id.cert.Load().Leaf.PublicKey.(ed25519.PublicKey)
	return public
}

// Reissue returns a new certificate for a peer that has proved to be the one, and whose key this is.
func (id *Identity) Reissue(p Peer, public ed25519.PublicKey) ([]byte, error) {
	switch {
	case id.sign == nil:
		return nil, errors.New("this node cannot renew certificates: only voters have the authority's key")
	case len(public) != ed25519.PublicKeySize || NodeID(public) != p.Node || p.Cluster != id.Cluster:
		return nil, errors.New("the key is not that of the node that asks")
	}
	return issue(id.ca, id.sign, p, public)
}

// Renew has the node use a certificate from now on, and writes it to the directory. A node that has the authority's key makes it itself if
// it is given none.
func (id *Identity) Renew(der []byte) error {
	if der == nil {
		var err error
		if der, err = id.Reissue(id.Peer, id.Public()); err != nil {
			return err
		}
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("read new certificate: %w", err)
	}
	peer, err := peerOf(leaf)
	switch {
	case err != nil:
		return err
	case peer != id.Peer:
		return errors.New("the new certificate is another one's")
	case !leaf.NotAfter.After(id.Expires()):
		return fmt.Errorf("%w, which ends on %s", ErrOlder, id.Expires().UTC().Format(time.DateOnly))
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: id.pool, DNSName: peer.Cluster}); err != nil {
		return fmt.Errorf("check new certificate: %w", err)
	}
	path := filepath.Join(id.dir, identityFile)
	b, err := os.ReadFile(path)
	var s stored
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return fmt.Errorf("renew certificate: %w", err)
	}
	s.Cert = der
	if b, err = json.MarshalIndent(&s, "", "  "); err == nil {
		err = writeDurably(path, b)
	}
	if err != nil {
		return fmt.Errorf("keep new certificate: %w", err)
	}
	old := id.cert.Load()
	id.cert.Store(&tls.Certificate{Certificate: [][]byte{der, id.ca.Raw}, PrivateKey: old.PrivateKey, Leaf: leaf})
	return nil
}
