package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/rewrap"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/wire"
)

// idempotent are the operations of the control plane that take an Idempotency-Key, each with what asks for it once: the path and the
// body for something that the owner made, an app of an organization (org is its ID) or one of their own (org is nil).
func idempotent() map[string]func(t *testing.T, s *stack, session string, org *string) (path, body string) {
	newApp := func(t *testing.T, s *stack, session string, org *string) string {
		t.Helper()
		return must[wire.App](t, s, "POST", "/dev/apps", session, map[string]any{"name": "Bot", "org_id": org}).AppID
	}
	return map[string]func(*testing.T, *stack, string, *string) (string, string){
		"createKey": func(t *testing.T, s *stack, session string, org *string) (string, string) {
			return "/dev/apps/" + newApp(t, s, session, org) + "/keys", ""
		},
		"regenerateKey": func(t *testing.T, s *stack, session string, org *string) (string, string) {
			keys := "/dev/apps/" + newApp(t, s, session, org) + "/keys"
			return keys + "/" + must[wire.NewKey](t, s, "POST", keys, session, nil).KeyID + "/regenerate", `{"grace":60}`
		},
		"createDarwinToken": func(*testing.T, *stack, string, *string) (string, string) {
			return "/dev/darwin-tokens", `{"name":"laptop"}`
		},
	}
}

// ask sends a request under an Idempotency-Key.
func (s *stack) ask(t *testing.T, path, session, once, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+session)
	r.Header.Set("Idempotency-Key", once)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestTheSameRequestTwiceIsAnsweredTheSame repeats every idempotent operation as every role of an organization, on what its owner made, and
// as a developer on an app of their own.
func TestTheSameRequestTwiceIsAnsweredTheSame(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.team(t)
	known := idempotent()
	for id, op := range operations(t) {
		if op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil && op.Extensions["x-plane"] == "control" && known[id] == nil {
			t.Errorf("%s is idempotent and not tried", id)
		}
	}
	org := n["org"]
	for id, prepare := range known {
		for _, who := range append(roles(), "loner") {
			maker, owner, want := n["owner_session"], &org, http.StatusForbidden
			if who == "loner" {
				maker, owner = n["loner_session"], nil
			}
			if who == "loner" || id == "createDarwinToken" || slices.Contains(strings.Fields(makers), who) {
				want = http.StatusOK
			}
			path, body := prepare(t, s, maker, owner)
			once := uuid.NewString()
			first := s.ask(t, path, n[who+"_session"], once, body)
			again := s.ask(t, path, n[who+"_session"], once, body)
			if first.Code != want || again.Code != first.Code || again.Body.String() != first.Body.String() {
				t.Errorf("%s as %s, want %d twice: %d %s, then %d %s", id, who, want, first.Code, first.Body, again.Code, again.Body)
			}
		}
	}
}

// TestARepeatedRequestNeedsTheRightAgain: who may not make keys any more is not shown the one made before.
func TestARepeatedRequestNeedsTheRightAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.team(t)
	org := n["org"]
	for _, id := range []string{"createKey", "regenerateKey"} {
		role := func(name string) {
			must[wire.OrgMember](t, s, "PUT", "/dev/org/member/"+n["developer_id"]+"/role", n["owner_session"], fmt.Sprintf(`{"role":%q}`, name))
		}
		path, body := idempotent()[id](t, s, n["owner_session"], &org)
		once := uuid.NewString()
		role("developer")
		if w := s.ask(t, path, n["developer_session"], once, body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
		role("viewer")
		if w := s.ask(t, path, n["developer_session"], once, body); w.Code != http.StatusForbidden {
			t.Errorf("%s after the role was taken away: %d %s", id, w.Code, w.Body)
		}
	}
}

// TestAnOrganizationsKeyStaysReadable reads the key that a member made as everybody who may, when key-encryption keys were replaced and
// when the member has left.
func TestAnOrganizationsKeyStaysReadable(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.team(t)
	org := n["org"]
	path, _ := idempotent()["createKey"](t, s, n["owner_session"], &org)
	once := uuid.NewString()
	var made wire.NewKey
	if err := json.Unmarshal(s.ask(t, path, n["developer_session"], once, "").Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	fresh, older := bytes.Repeat([]byte{8}, secret.KeyBytes), bytes.Repeat([]byte{7}, secret.KeyBytes)
	both, err := secret.NewVault([][]byte{fresh, older})
	if err != nil {
		t.Fatal(err)
	}
	if unknown, err := rewrap.Run(t.Context(), s.store, both, func(rewrap.Progress) {}); err != nil || unknown != 0 {
		t.Fatalf("%d values were not moved: %v", unknown, err)
	}
	if s.api.Apps.Vault, err = secret.NewVault([][]byte{fresh}); err != nil {
		t.Fatal(err)
	}
	reveal := func(who string) {
		t.Helper()
		got := must[wire.RevealedKey](t, s, "GET", "/dev/playground/key-for-stream?app_id="+made.AppID+"&key_id="+made.KeyID, n[who+"_session"], nil)
		if got.Key != made.Key {
			t.Errorf("%s reads another value", who)
		}
	}
	for who := range strings.FieldsSeq(makers) {
		reveal(who)
	}
	if w := s.ask(t, path, n["developer_session"], once, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), made.Key) {
		t.Errorf("repeated: %d %s", w.Code, w.Body)
	}
	must[wire.MemberRemoved](t, s, "DELETE", "/dev/org/member/"+n["developer_id"], n["owner_session"], nil)
	reveal("owner")
	if w := s.ask(t, path, n["developer_session"], once, ""); w.Code != http.StatusNotFound {
		t.Errorf("repeated by who has left: %d %s", w.Code, w.Body)
	}
}
