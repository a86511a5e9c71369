package nodeapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/plane"
)

func vault(t *testing.T) *secret.Vault {
	t.Helper()
	v, err := secret.NewVault([][]byte{make([]byte, secret.KeyBytes)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// say posts a message and returns status and answer.
func (s *side) say(t *testing.T, path, secret, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// What is not a claim is refused before the database hears of it.
func TestMalformedClaims(t *testing.T) {
	s := start(t)
	const id = "7d1f2a34-0000-4000-8000-000000000001"
	claim := func(c plane.ReplayClaim) string {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	hash := bytes.Repeat([]byte{1}, 32)
	good := plane.ReplayClaim{ClaimID: id, Scope: id, KeyID: id, Key: hash, Request: hash}
	short := good
	short.Request = hash[1:]
	for _, tt := range []struct {
		path, secret, body string
		status             int
	}{
		{plane.ReplayClaimPath, s.identity.Secret, "{", 400},
		{plane.ReplayClaimPath, s.identity.Secret, "{}", 400},
		{plane.ReplayClaimPath, s.identity.Secret, claim(short), 400},
		{plane.ReplayClaimPath, s.identity.Secret, strings.Repeat(" ", 17<<10), 413},
		{plane.ReplayClaimPath, "nobody", claim(good), 401},
		{plane.ReplayClaimPath, s.identity.Secret, claim(good), 404}, // there is no such key
		{plane.ReplayRenewPath, s.identity.Secret, `{"claim_id":"x"}`, 400},
		{plane.ReplayRenewPath, s.identity.Secret, `{"claim_id":"` + id + `"}`, 200},
		{plane.ReplayEndPath, s.identity.Secret, `{"claim_id":"x"}`, 400},
		{plane.ReplayEndPath, s.identity.Secret, `{"claim_id":"` + id + `"}`, 200},
		{plane.ReplayEndPath, s.identity.Secret, strings.Repeat(" ", plane.ReplayMessageBytesMax+1), 413},
	} {
		status, answer := s.say(t, tt.path, tt.secret, tt.body)
		if status != tt.status || status == 200 && answer != `{"held":false}` {
			t.Errorf("%s %.80s: %d %s, want %d", tt.path, tt.body, status, answer, tt.status)
		}
	}
}
