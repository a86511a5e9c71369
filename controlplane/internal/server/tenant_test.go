package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	contract "modelgate.internal/shared/api"
)

// TestIDsOfOthersLeadNowhere sends every operation whose path has the id of something that is owned, with the ids of another account,
// and with the example of the contract as its body. The answer is that of an id that does not exist.
func TestIDsOfOthersLeadNowhere(t *testing.T) {
	s := newStack(t)
	n, team := s.people(t), s.team(t)
	theirs := func(op contract.Operation) *strings.Replacer {
		key := n["other_key"]
		if op.ID == "revokeDarwinToken" {
			key = n["other_token"]
		}
		return strings.NewReplacer("{app_id}", n["other_app"], "{key_id}", key, "{session_id}", n["other_session_id"],
			"{dev_id}", team["viewer_id"], "{invite_id}", team["guest_invite"])
	}
	public := map[string]bool{"inviteInfo": true} // whoever has the link may look
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, op := range all {
		address := theirs(op).Replace(op.Path)
		if op.Plane != contract.PlaneControl || address == op.Path || public[op.ID] {
			continue
		}
		tried++
		session := n["session"]
		if strings.HasPrefix(op.Path, "/dev/org/") {
			session = team["rival_session"] // who may do the same in an organization of their own
		}
		w := s.do(t, op.Method, address, session, example(t, op.ID))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", op.Method, op.Path, w.Code, w.Body)
		}
	}
	if tried < 14 {
		t.Errorf("%d operations were tried", tried)
	}
}

// example is a body that the contract shows for an operation, "" if it has none.
func example(t *testing.T, operation string) string {
	t.Helper()
	body := operations(t)[operation].RequestBody
	if body == nil {
		return ""
	}
	text, err := json.Marshal(body.Value.Content.Get("application/json").Example)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
