package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"
)

const scheme = "modelgate"

func serial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	return n, nil
}

// newAuthority returns the authority's certificate, signed by itself.
func newAuthority(cluster string, key ed25519.PrivateKey) ([]byte, error) {
	number, err := serial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: "quota ledger " + cluster}, NotBefore: now.Add(-clockError), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make certificate of the authority: %w", err)
	}
	return der, nil
}

// issue returns a node's certificate. It ends with the authority's at the latest.
func issue(ca *x509.Certificate, sign ed25519.PrivateKey, p Peer, public ed25519.PublicKey) ([]byte, error) {
	number, err := serial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	end := now.Add(certLife)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	t := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: p.Node}, NotBefore: now.Add(-clockError), NotAfter: end,
		URIs:     []*url.URL{{Scheme: scheme, Host: p.Cluster, Path: "/" + string(p.Role) + "/" + p.Node}},
		DNSNames: []string{p.Node, p.Cluster}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, public, sign)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	return der, nil
}

// peerOf returns whom a certificate speaks for. That its signature is good was checked before.
func peerOf(c *x509.Certificate) (Peer, error) {
	public, ok := c.PublicKey.(ed25519.PublicKey)
	if !ok || len(c.URIs) != 1 || c.URIs[0].Scheme != scheme {
		return Peer{}, errors.New("this is no certificate of a quota ledger")
	}
	role, node, _ := strings.Cut(strings.TrimPrefix(c.URIs[0].Path, "/"), "/")
	p := Peer{Cluster: c.URIs[0].Host, Node: node, Role: Role(role)}
	if p.Node != NodeID(public) || (p.Role != Voter && p.Role != Client) {
		return Peer{}, errors.New("the certificate names a node or role that it cannot speak for")
	}
	return p, nil
}
