package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Token lets one node join. Its text is a secret.
type Token struct {
	Cluster string `json:"cluster"`
	Address string `json:"address"` // of the node that issued it
	Role    Role   `json:"role"`
	Secret  []byte `json:"secret"`
	CA      []byte `json:"ca"`
}

// String returns the text of the token.
func (t *Token) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic("BUG: a token is not JSON: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken reads the text of a token.
func ParseToken(text string) (*Token, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	t := &Token{}
	if err == nil {
		err = json.Unmarshal(b, t)
	}
	if err != nil || t.Address == "" || len(t.Secret) != secretBytes || (t.Role != Voter && t.Role != Client) {
		return nil, errors.New("this is not a join token of a quota ledger: check for cut characters")
	}
	return t, nil
}

// pending is what the issuer keeps of a token.
type pending struct {
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// Issue returns a token by which one node can join within a day at the address.
func (id *Identity) Issue(address string, role Role, now time.Time) (*Token, error) {
	if id.sign == nil {
		return nil, errors.New("this node cannot admit others: only voters have the authority's key. Ask a voter for a token")
	}
	dir := filepath.Join(id.dir, tokenDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("issue token: %w", err)
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("issue token: %w", err)
	}
	for _, e := range old {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > tokenLife {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	if len(old) >= tokensMax {
		return nil, fmt.Errorf("%d tokens are issued and not used: use one of them, or wait until they expire", len(old))
	}
	t := &Token{Cluster: id.Cluster, Address: address, Role: role, Secret: make([]byte, secretBytes), CA: id.ca.Raw}
	if _, err := rand.Read(t.Secret); err != nil {
		return nil, fmt.Errorf("issue token: %w", err)
	}
	b, err := json.Marshal(pending{role, now.Add(tokenLife)})
	if err != nil {
		return nil, fmt.Errorf("issue token: %w", err)
	}
	if err := writeDurably(filepath.Join(dir, nameOf(t.Secret)), b); err != nil {
		return nil, fmt.Errorf("issue token: %w", err)
	}
	return t, nil
}

func nameOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

// Ask is what a joining node sends.
type Ask struct {
	Secret []byte `json:"secret"`
	Public []byte `json:"public"` // Ed25519
}

// Answer is what it gets. The authority's key is for voters.
type Answer struct {
	Error string   `json:"error,omitempty"`
	Cert  []byte   `json:"cert,omitempty"`
	CAKey []byte   `json:"ca_key,omitempty"`
	Peers []string `json:"peers,omitempty"`
}

// ErrToken is a token that is unknown, used or too old.
var ErrToken = errors.New("the token is unknown, was used, or is older than a day: issue a new one")

// Admit uses up the token of a joining node and returns its certificate.
func (id *Identity) Admit(a *Ask, now time.Time) (*Answer, error) {
	if len(a.Secret) != secretBytes || len(a.Public) != ed25519.PublicKeySize || id.sign == nil {
		return nil, ErrToken
	}
	path := filepath.Join(id.dir, tokenDir, nameOf(a.Secret))
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, ErrToken
	}
	if err := os.Remove(path); err != nil { // of two that come at once, one finds it gone
		return nil, ErrToken
	}
	var p pending
	if err := json.Unmarshal(b, &p); err != nil || now.After(p.Expires) {
		return nil, ErrToken
	}
	public := ed25519.PublicKey(a.Public)
	cert, err := issue(id.ca, id.sign, Peer{id.Cluster, NodeID(public), p.Role}, public)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Cert: cert}
	if p.Role == Voter {
		answer.CAKey = id.sign.Seed()
	}
	return answer, nil
}

// Join makes an identity in the directory, which must exist. Exchange sends the question to the node that issued the token, over a
// connection with the given settings, and returns the answer.
func Join(dir, name, protocol string, t *Token, exchange func(address string, c *tls.Config, a *Ask) (*Answer, error)) (*Identity, []string, error) {
	config, err := t.joinTLS(protocol)
	if err != nil {
		return nil, nil, err
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make key of the node: %w", err)
	}
	answer, err := exchange(t.Address, config, &Ask{Secret: t.Secret, Public: public})
	if err != nil {
		return nil, nil, err
	}
	if answer.Error != "" {
		return nil, nil, errors.New(answer.Error)
	}
	leaf, err := x509.ParseCertificate(answer.Cert)
	if err != nil {
		return nil, nil, fmt.Errorf("read certificate: %w", err)
	}
	peer, err := peerOf(leaf)
	if err != nil {
		return nil, nil, err
	}
	s := stored{Cluster: t.Cluster, Role: peer.Role, Name: name, CA: t.CA, Cert: answer.Cert, Key: key.Seed(), CAKey: answer.CAKey}
	id, err := s.save(dir)
	return id, answer.Peers, err
}
