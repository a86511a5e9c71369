package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Role is what a node may be.
type Role string

// The roles.
const (
	Voter  Role = "voter"  // keeps the ledger's log, and votes once it was promoted
	Client Role = "client" // leases only
)

// Peer is whom a certificate speaks for.
type Peer struct {
	Cluster string
	Node    string // 32 hexadecimal digits
	Role    Role
}

// Number is the node's number in frames: the first half of its ID, never 0.
func (p Peer) Number() uint64 {
	raw, err := hex.DecodeString(p.Node)
	if err != nil || len(raw) != idBytes {
		return 0
	}
	return max(1, binary.BigEndian.Uint64(raw))
}

// Identity is this node's.
type Identity struct {
	Peer
	Name string

	dir  string
	cert atomic.Pointer[tls.Certificate] // with the authority's behind it; Renew replaces it
	ca   *x509.Certificate
	sign ed25519.PrivateKey // of the authority; nil if this node does not have it
	pool *x509.CertPool
}

// stored is the file of an identity.
type stored struct {
	Cluster string `json:"cluster"`
	Role    Role   `json:"role"`
	Name    string `json:"name"`
	CA      []byte `json:"ca"`               // DER
	Cert    []byte `json:"cert"`             // DER
	Key     []byte `json:"key"`              // Ed25519 seed
	CAKey   []byte `json:"ca_key,omitempty"` // Ed25519 seed
}

// NodeID is the ID of the node that has a key.
func NodeID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:idBytes])
}

// Begin makes a cluster and its first identity, a voter, in the directory, which must exist.
func Begin(dir, name string) (*Identity, error) {
	cluster := make([]byte, idBytes)
	if _, err := rand.Read(cluster); err != nil {
		return nil, fmt.Errorf("make cluster id: %w", err)
	}
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of the authority: %w", err)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of the node: %w", err)
	}
	s := stored{Cluster: hex.EncodeToString(cluster), Role: Voter, Name: name, Key: key.Seed(), CAKey: sign.Seed()}
	if s.CA, err = newAuthority(s.Cluster, sign); err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(s.CA)
	if err != nil {
		return nil, fmt.Errorf("read certificate of the authority: %w", err)
	}
	if s.Cert, err = issue(ca, sign, Peer{s.Cluster, NodeID(public), Voter}, public); err != nil {
		return nil, err
	}
	return s.save(dir)
}

// Exists reports whether the directory has an identity.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, identityFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// Load reads the identity in the directory.
func Load(dir string) (*Identity, error) {
	path := filepath.Join(dir, identityFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read identity of the quota ledger: %w", err)
	}
	var s stored
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("read identity of the quota ledger in %s: %w", path, err)
	}
	id, err := s.identity(dir)
	if err != nil {
		return nil, fmt.Errorf("identity of the quota ledger in %s is damaged: %w", path, err)
	}
	if end := id.Expires(); time.Now().After(end) { // it was stopped for so long
		if id.sign == nil {
			return nil, fmt.Errorf("the certificate of this node of the quota ledger ended on %s, before the node could renew it: move %s away and "+
				"join anew, with a token of a voter", end.UTC().Format(time.DateOnly), dir)
		}
		if err := id.Renew(nil); err != nil {
			return nil, err
		}
	}
	return id, nil
}

// save writes the file and returns what it says.
func (s *stored) save(dir string) (*Identity, error) {
	id, err := s.identity(dir)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write identity of the quota ledger: %w", err)
	}
	if err := writeDurably(filepath.Join(dir, identityFile), b); err != nil {
		return nil, fmt.Errorf("write identity of the quota ledger: %w", err)
	}
	return id, nil
}

func (s *stored) identity(dir string) (*Identity, error) {
	if len(s.Key) != ed25519.SeedSize || (len(s.CAKey) != ed25519.SeedSize && len(s.CAKey) != 0) {
		return nil, errors.New("a key has a wrong length")
	}
	ca, err := x509.ParseCertificate(s.CA)
	if err != nil {
		return nil, fmt.Errorf("read certificate of the authority: %w", err)
	}
	leaf, err := x509.ParseCertificate(s.Cert)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	peer, err := peerOf(leaf)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(s.Key)
	public, _ := key.Public().(ed25519.PublicKey)
	if peer.Cluster != s.Cluster || peer.Role != s.Role || !public.Equal(leaf.PublicKey) {
		return nil, errors.New("the certificate is another one's")
	}
	id := &Identity{Peer: peer, Name: s.Name, dir: dir, ca: ca, pool: x509.NewCertPool()}
	id.pool.AddCert(ca)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: id.pool, DNSName: peer.Cluster, CurrentTime: leaf.NotAfter}); err != nil {
		return nil, fmt.Errorf("check certificate: %w", err)
	}
	id.cert.Store(&tls.Certificate{Certificate: [][]byte{s.Cert, s.CA}, PrivateKey: key, Leaf: leaf})
	if len(s.CAKey) > 0 {
		id.sign = ed25519.NewKeyFromSeed(s.CAKey)
	}
	return id, nil
}

// writeDurably replaces a file as a whole, readable by its owner only.
func writeDurably(path string, b []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
