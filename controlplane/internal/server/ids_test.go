package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/controlplane/internal/ledger"
	contract "modelgate.internal/shared/api"
)

// misspelt are texts that a reader of UUIDs may take for an id, made of one that exists, and texts that are none. Raw bytes are those of
// the address or of the JSON string.
func misspelt(id string) map[string]string {
	return map[string]string{
		"urn": "urn:uuid:" + id, "braces": "{" + id + "}", "no dashes": strings.ReplaceAll(id, "-", ""), "upper case": strings.ToUpper(id),
		"37 characters": id + "0", "35 characters": id[:35], "NUL": id[:35] + "\x00", "not UTF-8": id[:35] + "\xff", "word": "mine",
	}
}

// free are fields named like ids whose texts are the caller's own or of another system.
func free(operation, field string) bool {
	switch field {
	case "camera_id", "user_id", "subject_id", "client_id":
		return true
	case "session_id": // of a scene, or of Stripe
		return operation != "endSession"
	case "org_id": // of a gallery
		return operation != "createApp"
	default:
		return false
	}
}

// place is where an operation takes an id.
type place struct {
	op    contract.Operation
	in    string // path, query or body
	field string
}

// idPlaces are all places of the control plane's contract for something whose name ends in _id or _ids.
func idPlaces(t *testing.T) (found []place) {
	t.Helper()
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	isID := func(name string) bool { return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids") }
	for _, op := range all {
		if op.Plane != contract.PlaneControl || op.Planned {
			continue
		}
		for _, in := range placeholder.FindAllString(op.Path, -1) {
			if name := strings.Trim(in, "{}"); isID(name) {
				found = append(found, place{op, "path", name})
			}
		}
		documented := operations(t)[op.ID]
		for _, p := range documented.Parameters {
			if isID(p.Value.Name) && p.Value.In == "query" {
				found = append(found, place{op, "query", p.Value.Name})
			}
		}
		if documented.RequestBody == nil || documented.RequestBody.Value.Content.Get("application/json") == nil {
			continue
		}
		schema := documented.RequestBody.Value.Content.Get("application/json").Schema.Value
		for _, part := range append(schema.AllOf, documented.RequestBody.Value.Content.Get("application/json").Schema) {
			for _, name := range slices.Sorted(maps.Keys(part.Value.Properties)) {
				if isID(name) {
					found = append(found, place{op, "body", name})
				}
			}
		}
	}
	return found
}

// request asks the operation with one text at the place, and with things that exist everywhere else.
func (p place) request(t *testing.T, s *stack, n names, session, text string) *httptest.ResponseRecorder {
	t.Helper()
	there := map[string]string{
		"app_id": n["app"], "key_id": n["key"], "session_id": n["session_id"], "dev_id": n["viewer_id"], "invite_id": n["guest_invite"],
		"demo_id": "kanban",
	}
	if p.op.ID == "revokeDarwinToken" {
		there["key_id"] = n["token"]
	}
	path := p.op.Path
	for name, value := range there {
		if p.in == "path" && name == p.field {
			value = url.PathEscape(text)
		}
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	query := url.Values{}
	for _, param := range operations(t)[p.op.ID].Parameters {
		if param.Value.In == "query" && there[param.Value.Name] != "" {
			query.Set(param.Value.Name, there[param.Value.Name])
		}
	}
	if p.in == "query" {
		query.Set(p.field, text)
	}
	body := example(t, p.op.ID)
	if p.in == "body" {
		var fields map[string]any
		if err := json.Unmarshal([]byte(body), &fields); err != nil {
			t.Fatalf("%s: %v", p.op.ID, err)
		}
		delete(fields, "api_key")
		var value any = "the-text"
		if strings.HasSuffix(p.field, "_ids") {
			value = []any{value}
		}
		fields[p.field] = value
		encoded, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "\xff") { // which json.Marshal replaces
			raw = []byte(`"` + text + `"`)
		}
		body = strings.Replace(string(encoded), `"the-text"`, string(raw), 1)
	}
	return s.do(t, p.op.Method, path+"?"+query.Encode(), session, body)
}

// TestAnIDHasOneSpelling sends every operation that takes an id other texts in its place. The answer is that of an id that does not exist,
// or that the request is not valid; never that we failed.
func TestAnIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.stack
	s.api.Usage = &ledger.Ledger{Store: s.store}
	s.api.StreamPace = counter.NewPace(time.Now, "stream tokens", counter.Developer, manyPerMinute, manyPerMinute)
	n, team := s.people(t), s.team(t)
	n["viewer_id"], n["guest_invite"] = team["viewer_id"], team["guest_invite"]
	tried := make(map[string]bool)
	for _, p := range idPlaces(t) {
		session, of := n["session"], map[string]string{
			"dev_id": team["viewer_id"], "invite_id": team["guest_invite"], "session_id": n["session_id"], "org_id": team["org"], "app_id": n["app"],
			"app_ids": n["app"], "key_id": n["key"], "demo_id": team["org"],
		}[p.field]
		if strings.HasPrefix(p.op.Path, "/dev/org/") || p.field == "org_id" {
			session = team["owner_session"]
		}
		if p.op.ID == "acceptInvite" {
			session = team["guest_session"]
		}
		if of == "" {
			of = n["developer"]
		}
		for form, text := range misspelt(of) {
			for _, credential := range []string{session, ""} {
				w := p.request(t, s, n, credential, text)
				name := fmt.Sprintf("%s with %s as %s in %s", p.op.ID, form, p.field, p.in)
				switch {
				case w.Code >= http.StatusInternalServerError:
					t.Errorf("%s: %d %s", name, w.Code, w.Body)
				case credential == "" || free(p.op.ID, p.field):
				case w.Code != http.StatusNotFound && w.Code != http.StatusUnprocessableEntity:
					t.Errorf("%s: %d %s", name, w.Code, w.Body)
				case operations(t)[p.op.ID].Responses.Status(w.Code) == nil:
					t.Errorf("%s: %d, which the contract does not have: %s", name, w.Code, w.Body)
				}
			}
		}
		tried[p.op.ID] = true
	}
	if len(tried) < 25 {
		t.Errorf("%d operations were tried: %v", len(tried), slices.Sorted(maps.Keys(tried)))
	}
}
