package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"modelgate.internal/shared/api"
)

// contract is the document, ready to judge answers.
type contract struct {
	doc      *openapi3.T
	byID     map[string]*openapi3.Operation
	payloads []*openapi3.Schema // of event streams
}

func readContract(t *testing.T) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML())
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{doc: doc, byID: map[string]*openapi3.Operation{}}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			c.byID[op.OperationID] = op
		}
	}
	for _, name := range []string{
		"DeltaEvent", "ErrorEvent", "JobEvent", "AgentResponse", "TaskResult", "ChatCompletionChunk", "Synthesis", "VoiceFootprint",
	} {
		schema := doc.Components.Schemas[name]
		if schema == nil {
			t.Fatalf("the document has no schema %s", name)
		}
		c.payloads = append(c.payloads, schema.Value)
	}
	return c
}

// judge returns what is wrong with an answer to an operation.
func (c *contract) judge(id string, a answer) error {
	op := c.byID[id]
	if op == nil {
		return fmt.Errorf("the document has no operation %s", id)
	}
	documented := op.Responses.Value(strconv.Itoa(a.status))
	if documented == nil {
		if a.status < 400 || a.status == 401 || a.status == 404 || a.status == 422 || a.status == 501 {
			return fmt.Errorf("status %d is not documented; body %.300s", a.status, a.body)
		}
		documented = op.Responses.Default()
	}
	if a.header.Get("X-Request-Id") == "" {
		return fmt.Errorf("status %d has no X-Request-Id", a.status)
	}
	mime, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	media := documented.Value.Content.Get(mime)
	if media == nil {
		if len(documented.Value.Content) == 0 {
			return nil
		}
		return fmt.Errorf("status %d has content type %q, which is not documented", a.status, mime)
	}
	switch mime {
	case "application/json":
		return fits(media.Schema.Value, a.body)
	case "text/event-stream":
		if id == "deepSearch" || id == "playgroundDeepSearch" {
			return c.textStream(a.body)
		}
		return c.stream(a.body)
	}
	return nil
}

// stream checks an event stream line by line.
func (c *contract) stream(body string) error {
	frames := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	if frames[len(frames)-1] != "data: [DONE]" {
		return fmt.Errorf("the stream ends with %q", frames[len(frames)-1])
	}
	for _, frame := range frames[:len(frames)-1] {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok {
			if strings.HasPrefix(frame, ":") {
				continue
			}
			return fmt.Errorf("frame %q is neither data nor a comment", frame)
		}
		if !slices.ContainsFunc(c.payloads, func(s *openapi3.Schema) bool { return fits(s, data) == nil }) {
			return fmt.Errorf("event %s is none that the document knows", data)
		}
	}
	return nil
}

// textStream checks a stream of plain text, in which only the error event has a payload that the document knows.
func (c *contract) textStream(body string) error {
	frames := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	if frames[len(frames)-1] != "data: [DONE]" {
		return fmt.Errorf("the stream ends with %q", frames[len(frames)-1])
	}
	for _, frame := range frames {
		if data, ok := strings.CutPrefix(frame, "event: error\ndata: "); ok {
			if err := fits(c.doc.Components.Schemas["ErrorEvent"].Value, data); err != nil {
				return err
			}
			continue
		}
		for line := range strings.SplitSeq(frame, "\n") {
			if !strings.HasPrefix(line, "data: ") && !strings.HasPrefix(line, ":") {
				return fmt.Errorf("line %q is neither data nor a comment", line)
			}
		}
	}
	return nil
}

func fits(schema *openapi3.Schema, text string) error {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("body %.300q: %w", text, err)
	}
	if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
		return fmt.Errorf("body %.500s: %w", text, err)
	}
	return nil
}
