package api_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestErrorAnswersAreShared wants every error to be one of the shared answers, and the ones that any operation of a sort
// can give to be documented.
func TestErrorAnswersAreShared(t *testing.T) {
	shared := map[string]string{
		"400": "BadRequest", "401": "Unauthorized", "403": "Forbidden", "404": "NotFound", "409": "Conflict",
		"413": "TooLarge", "422": "Validation", "429": "TooManyRequests", "501": "NotImplemented",
		"502": "BadGateway", "503": "Unavailable", "default": "OtherError",
	}
	each(t, func(t *testing.T, _, path string, op *openapi3.Operation) {
		shared, openai := shared, isOpenAI(path)
		if openai {
			shared = map[string]string{
				"400": "OpenAIError", "401": "OpenAIError", "403": "OpenAIError", "404": "OpenAIError", "413": "OpenAIError",
				"429": "OpenAITooManyRequests", "502": "OpenAIError", "503": "OpenAIUnavailable", "default": "OpenAIError",
			}
		}
		for status, answer := range op.Responses.Map() {
			if status[0] == '2' || status[0] == '3' {
				continue
			}
			if want := "#/components/responses/" + shared[status]; answer.Ref != want {
				t.Errorf("%s is %q, want %q", status, answer.Ref, want)
			}
		}
		wanted := []string{"default"}
		if len(*op.Security) > 0 {
			wanted = append(wanted, "401")
		}
		if op.RequestBody != nil {
			wanted = append(wanted, "413")
			if path != "/dev/billing/webhook" && !openai { // its body is checked by signature, not by schema
				wanted = append(wanted, "422")
			}
		}
		for _, status := range wanted {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s is not documented", status)
			}
		}
	})
}

// isOpenAI tells the paths of OpenAI's API, whose errors have its form: 400 for a body that violates its schema.
func isOpenAI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/api/v1/chat/completions"
}

func TestAnswersHaveExamples(t *testing.T) {
	payloads := streamPayloads(t)
	each(t, func(t *testing.T, _, _ string, op *openapi3.Operation) {
		success := 0
		for status, answer := range op.Responses.Map() {
			if status[0] != '2' && status[0] != '3' {
				continue
			}
			success++
			if answer.Value.Headers["X-Request-Id"] == nil {
				t.Errorf("%s does not document X-Request-Id", status)
			}
			for mime, media := range answer.Value.Content {
				switch mime {
				case "application/json":
					checkExamples(t, status+" "+mime, media)
				case "text/event-stream":
					for _, example := range checkExamples(t, status+" "+mime, media) {
						checkEvents(t, payloads, example)
					}
				}
			}
		}
		if success == 0 {
			t.Error("no successful answer")
		}
	})
}

func TestBodiesHaveExamples(t *testing.T) {
	each(t, func(t *testing.T, _, _ string, op *openapi3.Operation) {
		if op.RequestBody == nil {
			return
		}
		if !op.RequestBody.Value.Required && op.OperationID != "regenerateKey" { // the specification has none there
			t.Error("the body is not required")
		}
		for mime, media := range op.RequestBody.Value.Content {
			checkExamples(t, mime, media)
		}
	})
}

func TestParametersHaveExamples(t *testing.T) {
	each(t, func(t *testing.T, _, _ string, op *openapi3.Operation) {
		for _, p := range op.Parameters {
			if p.Value.Description == "" || (p.Value.Example == nil && p.Value.Extensions["x-secret"] != true) {
				t.Errorf("parameter %s has no description or no example", p.Value.Name)
			}
		}
	})
}

func TestSharedErrorsHaveExamples(t *testing.T) {
	for name, answer := range load(t).Components.Responses {
		media := answer.Value.Content.Get("application/json")
		if media == nil {
			t.Errorf("%s is not JSON", name)
			continue
		}
		checkExamples(t, name, media)
	}
}

// checkExamples validates the examples of a media type against its schema and returns them.
func checkExamples(t *testing.T, where string, media *openapi3.MediaType) []any {
	t.Helper()
	var examples []any
	if media.Example != nil {
		examples = append(examples, media.Example)
	}
	for _, example := range media.Examples {
		examples = append(examples, example.Value.Value)
	}
	if len(examples) == 0 {
		t.Errorf("%s: no example", where)
	}
	for _, example := range examples {
		checkValue(t, where, media.Schema.Value, example)
	}
	return examples
}

func checkValue(t *testing.T, where string, schema *openapi3.Schema, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	options := []openapi3.SchemaValidationOption{openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()}
	if err := schema.VisitJSON(plain, options...); err != nil {
		t.Errorf("%s: example %s: %v", where, text, err)
	}
	checkKnown(t, where, schema, plain)
}

// checkKnown refuses properties that the schema does not have. Schemas are open, so that answers can grow, and a
// misspelt optional property of an example would pass the validation.
func checkKnown(t *testing.T, where string, schema *openapi3.Schema, value any) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok || len(schema.OneOf)+len(schema.AnyOf) > 0 {
		return
	}
	view := flatten(schema)
	if view.open || len(view.properties) == 0 {
		return
	}
	for name, inner := range object {
		property, known := view.properties[name]
		if !known {
			t.Errorf("%s: the example has %s, which the schema does not know", where, name)
			continue
		}
		if list, isList := inner.([]any); isList && property.Value.Items != nil {
			for i, element := range list {
				checkKnown(t, where+" "+name+" "+strconv.Itoa(i), property.Value.Items.Value, element)
			}
			continue
		}
		checkKnown(t, where+" "+name, property.Value, inner)
	}
}

// checkEvents reads an example of an event stream line by line.
func checkEvents(t *testing.T, payloads []*openapi3.Schema, example any) {
	t.Helper()
	text, _ := example.(string)
	frames := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	if frames[len(frames)-1] != "data: [DONE]" {
		t.Errorf("the stream does not end with [DONE]: %q", text)
	}
	for _, frame := range frames[:len(frames)-1] {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Errorf("not one data line: %q", frame)
		}
		if !strings.HasPrefix(data, "{") {
			continue // deep search streams plain text
		}
		var payload any
		if err := json.Unmarshal([]byte(data), &payload); err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		fits := func(s *openapi3.Schema) bool { return s.VisitJSON(payload, openapi3.EnableJSONSchema2020()) == nil }
		if !slices.ContainsFunc(payloads, fits) {
			t.Errorf("%s is none of the payloads of a stream", data)
		}
	}
}

// streamPayloads resolves x-payload of the event streams, which OpenAPI tools leave alone.
func streamPayloads(t *testing.T) []*openapi3.Schema {
	t.Helper()
	components := load(t).Components.Schemas
	text, err := json.Marshal(components["EventStream"].Value.Extensions["x-payload"])
	if err != nil {
		t.Fatal(err)
	}
	var payload struct {
		AnyOf []struct {
			Ref string `json:"$ref"`
		} `json:"anyOf"`
	}
	if err := json.Unmarshal(text, &payload); err != nil || len(payload.AnyOf) == 0 {
		t.Fatalf("x-payload %s: %v", text, err)
	}
	var schemas []*openapi3.Schema
	for _, ref := range payload.AnyOf {
		name := strings.TrimPrefix(ref.Ref, "#/components/schemas/")
		if components[name] == nil {
			t.Fatalf("x-payload names %s, which does not exist", ref.Ref)
		}
		schemas = append(schemas, components[name].Value)
	}
	return schemas
}
