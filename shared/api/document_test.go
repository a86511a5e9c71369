package api_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"modelgate.internal/shared/api"
)

// load parses the document.
func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return doc
}

// each calls check in a subtest of every operation.
func each(t *testing.T, check func(t *testing.T, method, path string, op *openapi3.Operation)) {
	t.Helper()
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(method+path, func(t *testing.T) { check(t, method, path, op) })
		}
	}
}

// TestDocumentIsValid checks the document against OpenAPI 3.1.
func TestDocumentIsValid(t *testing.T) {
	doc := load(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "0.2.0" {
		t.Errorf("openapi %s, version %s; want 3.1.0 and 0.2.0", doc.OpenAPI, doc.Info.Version)
	}
}

// TestSpecificationIsCovered holds the document against the tables of the specification, both ways.
func TestSpecificationIsCovered(t *testing.T) {
	want := specRows(t)
	credentials := map[string]string{
		"": "none", "session": "bearer", "session,sessionQuery": "bearer-or-t", "apiKey,apiKeyHeader": "key",
	}
	ops, err := api.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		name := op.Method + " " + op.Path
		credential, ok := want[name]
		if ok == op.Added {
			t.Errorf("%s: in the specification %t, marked as an addition %t", name, ok, op.Added)
		}
		if !ok {
			continue
		}
		delete(want, name)
		if got := credentials[strings.Join(op.Security, ",")]; got != credential {
			t.Errorf("%s: security %v, want %s", name, op.Security, credential)
		}
		plane := api.PlaneControl
		if strings.HasPrefix(op.Path, "/api/v1") || strings.HasPrefix(op.Path, "/api/translate") || strings.HasPrefix(op.Path, "/v1/") {
			plane = api.PlaneData
		}
		if op.Plane != plane {
			t.Errorf("%s: x-plane %q, want %q", name, op.Plane, plane)
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

func TestOperationsAreMarked(t *testing.T) {
	lowerCamel := regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	seen := map[string]string{}
	tags := load(t).Tags
	each(t, func(t *testing.T, method, path string, op *openapi3.Operation) {
		if !lowerCamel.MatchString(op.OperationID) {
			t.Errorf("operationId %q is not lowerCamel", op.OperationID)
		}
		if other, dup := seen[op.OperationID]; dup {
			t.Errorf("operationId %q is that of %s too", op.OperationID, other)
		}
		seen[op.OperationID] = method + " " + path
		if op.Security == nil {
			t.Error("security is not stated; write [] for none")
		}
		if op.Summary == "" || len(op.Tags) != 1 || tags.Get(op.Tags[0]) == nil {
			t.Errorf("summary %q, tags %v: want a summary and one declared tag", op.Summary, op.Tags)
		}
		planned := op.Extensions["x-status"] == "planned"
		if _, marked := op.Extensions["x-status"]; marked && !planned {
			t.Errorf("x-status %v: only planned is known", op.Extensions["x-status"])
		}
		if built := slices.Contains(builtRows(), method+" "+path); built == planned {
			t.Errorf("built %t, planned %t", built, planned)
		}
		if documented := op.Responses.Status(501) != nil; documented != planned {
			t.Errorf("planned %t, documents 501 %t", planned, documented)
		}
	})
}

func TestOperationsAgreeWithTheDocument(t *testing.T) {
	ops, err := api.Operations()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]api.Operation{}
	for _, op := range ops {
		byName[op.Method+" "+op.Path] = op
	}
	count := 0
	each(t, func(t *testing.T, method, path string, op *openapi3.Operation) {
		count++
		got := byName[method+" "+path]
		if got.ID != op.OperationID || got.Plane != op.Extensions["x-plane"] ||
			got.Planned != (op.Extensions["x-status"] == "planned") {
			t.Errorf("Operations has %+v", got)
		}
	})
	if len(ops) != count {
		t.Errorf("Operations has %d, the document %d", len(ops), count)
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	text, err := api.JSON()
	if err != nil {
		t.Fatal(err)
	}
	served, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	doc := load(t)
	delete(doc.Extensions, "x-shared")
	want, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(served); err != nil || string(got) != string(want) {
		t.Errorf("the JSON form differs from the YAML (%v)", err)
	}
	again, err := api.JSON()
	if err != nil || string(again) != string(text) {
		t.Errorf("a second conversion differs (%v)", err)
	}
	if head := `{"openapi":"3.1.0","info":{"title":"Modelgate","version":`; !strings.HasPrefix(string(text), head) {
		t.Errorf("the order of the keys is lost: %.80s", text)
	}
}

// TestSecretsAreMarked finds values that grant access by their names. Whoever adds one marks it, so that the test which
// keeps marked values out of the logs covers it.
func TestSecretsAreMarked(t *testing.T) {
	secret := []string{"password", "access_token", "key", "api_key", "credential", "token"}
	doc := load(t)
	var walk func(name string, s *openapi3.Schema)
	walk = func(name string, s *openapi3.Schema) {
		for property, ref := range s.Properties {
			if slices.Contains(secret, property) && ref.Value.Extensions["x-secret"] != true {
				t.Errorf("%s.%s is not marked x-secret", name, property)
			}
		}
		for _, part := range s.AllOf {
			if part.Ref == "" {
				walk(name, part.Value)
			}
		}
	}
	for name, ref := range doc.Components.Schemas {
		walk(name, ref.Value)
	}
	demo := doc.Paths.Value("/dev/demos/{demo_id}").Get.Parameters.GetByInAndName("query", "t")
	if demo == nil || demo.Extensions["x-secret"] != true {
		t.Error("the query parameter t is not marked x-secret")
	}
}
