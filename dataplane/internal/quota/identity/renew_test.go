package identity

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair makes a voter, and a client that the voter admitted.
func pair(t *testing.T) (voter, client *Identity) {
	t.Helper()
	voter, err := Begin(t.TempDir(), "voter")
	if err != nil {
		t.Fatal(err)
	}
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := issue(voter.ca, voter.sign, Peer{voter.Cluster, NodeID(public), Client}, public)
	if err != nil {
		t.Fatal(err)
	}
	s := stored{Cluster: voter.Cluster, Role: Client, Name: "client", CA: voter.ca.Raw, Cert: der, Key: key.Seed()}
	if client, err = s.save(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return voter, client
}

// age has the identity's file say that its certificate ended an hour ago.
func (id *Identity) age(t *testing.T, sign ed25519.PrivateKey) {
	t.Helper()
	past := *id.ca
	past.NotAfter = time.Now().Add(-clockError / 2)
	der, err := issue(&past, sign, id.Peer, id.Public())
	if err != nil {
		t.Fatal(err)
	}
	s := stored{Cluster: id.Cluster, Role: id.Role, CA: id.ca.Raw, Cert: der, Key: id.cert.Load().PrivateKey.(ed25519.PrivateKey).Seed()}
	if id.sign != nil {
		s.CAKey = id.sign.Seed()
	}
	if _, err := s.save(id.dir); err != nil {
		t.Fatal(err)
	}
}

func TestACertificateIsDueWhenAThirdOfItIsLeft(t *testing.T) {
	voter, _ := pair(t)
	if now := time.Now(); voter.Due(now) || voter.Due(now.Add(59*24*time.Hour)) || !voter.Due(now.Add(61*24*time.Hour)) {
		t.Error("due at a wrong time")
	}
}

// A certificate that ended while the node was stopped is renewed by a node that can, and else refused with the way out.
func TestCertificatesThatEnded(t *testing.T) {
	voter, client := pair(t)
	voter.age(t, voter.sign)
	client.age(t, voter.sign)
	again, err := Load(voter.dir)
	if err != nil || time.Until(again.Expires()) < certLife-time.Hour {
		t.Error(err)
	}
	if again, err = Load(voter.dir); err != nil || time.Until(again.Expires()) < certLife-time.Hour {
		t.Errorf("it was not kept: %v", err)
	}
	if _, err := Load(client.dir); err == nil || !strings.Contains(err.Error(), "join anew") {
		t.Error(err)
	}
}

// A node takes no certificate that is another one's, another authority's, or no longer than its own, and keeps its file.
func TestCertificatesThatAreNotTaken(t *testing.T) {
	voter, client := pair(t)
	before, err := os.ReadFile(filepath.Join(client.dir, identityFile))
	if err != nil {
		t.Fatal(err)
	}
	stranger, _ := pair(t)
	forged, err := issue(voter.ca, stranger.sign, client.Peer, client.Public())
	if err == nil { // signed by another key than the authority's
		if err := client.Renew(forged); err == nil {
			t.Error("a forged certificate was taken")
		}
	}
	same, err := voter.Reissue(client.Peer, client.Public())
	if err != nil {
		t.Fatal(err)
	}
	for what, der := range map[string][]byte{"the voter's": voter.cert.Load().Certificate[0], "nonsense": {1, 2, 3}, "none": nil, "no longer one": same} {
		if err := client.Renew(der); err == nil {
			t.Errorf("%s was taken", what)
		} else if what == "no longer one" && !errors.Is(err, ErrOlder) {
			t.Error(err)
		}
	}
	after, err := os.ReadFile(filepath.Join(client.dir, identityFile))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed: %v", err)
	}
	if _, err := voter.Reissue(client.Peer, voter.Public()); err == nil {
		t.Error("a certificate was made for another node's key")
	}
	if _, err := client.Reissue(client.Peer, client.Public()); err == nil {
		t.Error("a client makes certificates")
	}
}
