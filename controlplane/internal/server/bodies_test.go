package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	contract "modelgate.internal/shared/api"
)

// TestBodiesThatTheContractDoesNotShow changes the example of every operation with a JSON body, field by field, and holds each answer
// against the contract: its status is documented, its body fits, none is a failure of ours, and what the document's schema refuses
// is not done.
func TestBodiesThatTheContractDoesNotShow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.people(t)
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	tried, refused := 0, 0
	for _, op := range all {
		body := operations(t)[op.ID].RequestBody
		if op.Plane != contract.PlaneControl || body == nil || body.Value.Content.Get("application/json") == nil {
			continue
		}
		address := strings.NewReplacer("{app_id}", n["app"], "{key_id}", n["key"], "{session_id}", n["session_id"]).Replace(op.Path)
		schema := body.Value.Content.Get("application/json").Schema.Value
		for _, text := range variants(example(t, op.ID)) {
			w := s.do(t, op.Method, address, n["session"], text)
			documented(t, op.ID, w)
			tried++
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable { // which says what is not configured
				t.Errorf("%s: %d to %.200s: %s", op.ID, w.Code, text, w.Body)
			}
			if w.Code >= 400 {
				refused++
			} else if err := fits(schema, text); err != nil && !strings.HasPrefix(op.Path, "/dev/playground/") { // which the gateway judges
				t.Errorf("%s: %d to %.200s, which the contract refuses: %v", op.ID, w.Code, text, err)
			}
		}
	}
	t.Logf("%d bodies, %d refused", tried, refused)
	if tried < 500 || refused < tried/2 || refused == tried {
		t.Errorf("%d bodies were tried and %d refused", tried, refused)
	}
}

// variants are an example with one thing about it changed.
func variants(example string) []string {
	out := []string{"", "{", "null", "[]", `"text"`, "7", "\xff", `{"a":1}{}`}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(example), &fields) != nil {
		return out
	}
	with := func(name, value string) {
		changed := maps.Clone(fields)
		changed[name] = json.RawMessage(value)
		if value == "" {
			delete(changed, name)
		}
		if text, err := json.Marshal(changed); err == nil {
			out = append(out, string(text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range []string{
			"", "null", "true", "-1", "1e300", "0.5", `""`, `" "`, `"\u0000"`, `"\ud800"`, `"` + strings.Repeat("x", 20_000) + `"`, "[]", "{}", `[null]`, `["x",7]`,
		} {
			with(name, value)
		}
	}
	return out
}

// fits returns what the contract's schema says against a body.
func fits(schema *openapi3.Schema, text string) error {
	if text == "" {
		return nil // bodies that may be left out
	}
	var body any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return err
	}
	return schema.VisitJSON(body, openapi3.EnableJSONSchema2020(), openapi3.VisitAsRequest())
}
