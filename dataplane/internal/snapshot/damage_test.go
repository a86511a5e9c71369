package snapshot_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Damage of the file at any of many places ends in a node that either serves what it had or is not ready and fetches anew.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n, _ := filled(t, dir, p, nil)
	n.stop()
	path := filepath.Join(dir, "index.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.set("secret-1", http.StatusServiceUnavailable)
	page := os.Getpagesize()
	damage := map[string][]byte{
		"empty":      {},
		"text":       []byte("this is not an index"),
		"cut":        whole[:page*2],
		"cut short":  whole[:page*3+100],
		"meta pages": append(bytes.Repeat([]byte{0xff}, 2*page), whole[2*page:]...),
		"all pages":  append(bytes.Clone(whole[:2*page]), bytes.Repeat([]byte{0xff}, len(whole)-2*page)...),
	}
	for name, data := range damage {
		t.Run(name, func(t *testing.T) {
			p.set("secret-1", http.StatusServiceUnavailable)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			n := startNode(t, dir, p.server.URL, nil)
			if name == "empty" {
				// bbolt takes an empty file for a new one: it has no state either
				if n.Freshness().Cursor.Version != 0 {
					t.Error("an empty file has a state")
				}
			} else if n.Ready() == nil {
				t.Error("ready with a damaged index")
			}
			if _, err := os.Stat(path + ".damaged"); name != "empty" && err != nil {
				t.Error(err)
			}
			p.set("secret-1", 0)
			s := p.stream()
			if s.epoch != "0" {
				t.Errorf("asks from %s/%s", s.epoch, s.version)
			}
			s.send(hello(1, true), keyChange(1, "a"), mark(1, 3))
			p.acked(1, 3)
			n.has(t, "a")
			n.stop()
		})
	}
}

// A record whose bytes changed on disk is noticed when it is looked up, and the whole index is fetched anew.
func TestDamagedKeyRecord(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n, _ := filled(t, dir, p, nil)
	n.stop()
	path := filepath.Join(dir, "index.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(plane.Principal{KeyID: "a", Kind: key.Test})
	changed := bytes.Replace(body, []byte(`"key_id":"a"`), []byte(`"key_id":"z"`), 1)
	damaged := bytes.ReplaceAll(whole, body, changed)
	if bytes.Equal(damaged, whole) {
		t.Fatal("the record is not where the test looks for it")
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	n = startNode(t, dir, p.server.URL, nil)
	p.stream() // it has not noticed yet
	if _, _, err := n.Lookup(key.Hash("a")); err == nil {
		t.Fatal("a changed record is served")
	}
	s := p.stream()
	if s.epoch != "0" {
		t.Errorf("asks from %s/%s", s.epoch, s.version)
	}
	s.send(hello(1, true), keyChange(1, "a"), mark(1, 3))
	p.acked(1, 3)
	n.has(t, "a")
	if !strings.Contains(n.log.String(), "index of keys is damaged") {
		t.Error("the log does not say so")
	}
}
