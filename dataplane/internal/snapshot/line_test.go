package snapshot

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// usual is the line of a key as the control plane writes it: the body as a PostgreSQL database prints JSONB.
func usual(body string) []byte {
	return []byte(`{"change":{"version":7,"kind":"key","id":"` + strings.Repeat("0a", 32) + `","body":` + body + `}}`)
}

const usualBody = `{"kind": "live", "scope": {"tasks": ["chat"]}, "app_id": "a", "key_id": "k", "limits": [{"max": 600, "name": "key_per_minute", ` +
	`"bucket": "key/k/minute", "window": 60000000000}, {"max": -1, "name": "n", "bucket": "b", "window": 0, "daily": true}], "developer_id": "d"}`

func TestTheFastReaderTakesTheLineOfAKey(t *testing.T) {
	if !takes(t, usual(usualBody)) {
		t.Error("the usual line was left to the slow reader")
	}
	body, err := json.Marshal(plane.Principal{KeyID: "k", Kind: key.Live, Limits: []plane.Limit{{Name: "n", Max: 1, Window: time.Minute}}})
	if err != nil {
		t.Fatal(err)
	}
	if !takes(t, usual(string(body))) {
		t.Errorf("the record of a key was left to the slow reader: %s", body)
	}
}

func TestTheFastReaderLeavesEverythingElse(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `{"ping":true}`, `{"change":{"version":7,"kind":"model","id":"m","body":{}}}`,
		string(usual(`{"kind": 5}`)), string(usual(`{"kind": null}`)), string(usual(`{"kind": "l\u0069ve"}`)), string(usual(`{"key_id": "a"`)),
		string(usual(`{"limits": [{"max": 1e3}]}`)), string(usual(`{"limits": [{"max": 01}]}`)), string(usual(`{"limits": [{"max": 9999999999999999999}]}`)),
		string(usual(`{"scope": {"families": "darwin"}}`)), string(usual(`{"unheard_of": "x"}`)), string(usual(`{}`)) + `}`, string(usual(`[]`)),
		strings.Replace(string(usual(`{}`)), "0a", "0A", 1), strings.Replace(string(usual(`{}`)), `:7,`, `:07,`, 1),
		strings.Replace(string(usual(`{}`)), `:7,`, `:-7,`, 1), strings.Replace(string(usual(`{}`)), `{}}}`, `{},"gone":true}}`, 1),
	} {
		if takes(t, []byte(line)) {
			t.Errorf("taken: %s", line)
		}
	}
}

// takes reports whether the fast reader takes a line, and holds it to the slow one.
func takes(t *testing.T, line []byte) bool {
	t.Helper()
	id, body, version, ok := readKey(line)
	if !ok {
		return false
	}
	m, err := readMessage(line)
	if err != nil || m.Change == nil {
		t.Fatalf("the slow reader does not take %s: %v", line, err)
	}
	c := m.Change
	if c.Kind != plane.KindKey || c.ID != string(id) || c.Version != version || c.Gone || !bytes.Equal(c.Body, body) {
		t.Fatalf("%s: the slow reader has %+v", line, c)
	}
	if _, err := digestOf(c.ID); err != nil {
		t.Fatal(err)
	}
	var p plane.Principal
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%s is no principal: %v", body, err)
	}
	return true
}

func TestSimpleIsWhatHasNeitherEscapesNorControls(t *testing.T) {
	text := bytes.Repeat([]byte{'"'}, 19) // two words and a rest
	for i := range text {
		for c := range 256 {
			text[i] = byte(c)
			if want := c >= ' ' && c != '\\'; simple(text) != want {
				t.Errorf("byte %#x at %d: simple says %t", c, i, !want)
			}
		}
		text[i] = "\x7f\x80\xff !"[i%5] // beside bytes that a carry could reach
	}
}

func FuzzTheFastReaderAgreesWithTheSlow(f *testing.F) {
	f.Add(usual(usualBody))
	f.Add(usual(`{"limits": [], "scope": {}}`))
	f.Add(usual(`{"limits": [{"daily": false}], "scope": {"families": [], "tasks": ["a", "b"]}}`))
	f.Fuzz(func(t *testing.T, line []byte) { takes(t, line) })
}
