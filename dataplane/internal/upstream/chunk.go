package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
)

// chunk is one event of a chat completion stream.
type chunk struct {
	text     []byte      // inside of the JSON string literal of the choice's content
	thought  bool        // it carries output that is not part of the answer, such as reasoning
	called   bool        // it calls a tool
	choices  int         // 0 or 1
	finished bool        // it has a finish reason
	usage    *call.Usage // the provider's count
}

// What can be wrong with an event.
var (
	errNotChunk = errors.New("not a chat completion chunk")
	errTools    = errors.New("a tool call although no tools were offered")
	errText     = errors.New("text that is not valid UTF-8")
)

// reported is an error that the upstream put into a stream or an answer.
type reported struct {
	message    string // as sent
	kind, code string // the error's type and code; "" when it has none
}

// Error leaves the message out: it may repeat the prompt, and errors are logged.
func (r *reported) Error() string {
	return fmt.Sprintf("reported by the upstream in %d bytes", len(r.message))
}

// scanChunk returns the text of a chunk that has one choice with text and nothing else to tell: no finish reason, usage,
// tool call or error. It refuses every other event, and what it accepts parseChunk accepts with the same text.
func scanChunk(data []byte) (text []byte, ok bool) {
	s := scanner{b: data}
	choices := 0
	s.want('{')
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "choices":
			choices++
			text = s.choice()
		case "error", "usage":
			s.bad = s.bad || !s.null()
		case "object":
			s.space()
			s.bad = s.bad || string(s.text()) != "chat.completion.chunk"
		default:
			s.skip(0)
		}
	}
	s.end()
	return text, !s.bad && choices == 1 && text != nil
}

// choice reads the only choice of a chunk and returns its text.
func (s *scanner) choice() (text []byte) {
	s.want('[')
	s.want('{')
	deltas := 0
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "index":
			s.bad = s.count() != 0 || s.bad
		case "finish_reason":
			s.bad = s.bad || !s.null()
		case "delta":
			deltas++
			text = s.delta()
		default:
			s.skip(0)
		}
	}
	s.want(']')
	s.bad = s.bad || deltas != 1
	return text
}

// delta reads a delta and returns its text.
func (s *scanner) delta() (text []byte) {
	s.want('{')
	contents := 0
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "content":
			contents++
			s.space()
			text = s.text()
		case "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call":
			s.bad = s.bad || !s.null()
		default:
			s.skip(0)
		}
	}
	s.bad = s.bad || contents != 1
	return text
}

// wireChunk is what parseChunk knows of a chunk.
type wireChunk struct {
	Object  string `json:"object"`
	Choices *[]struct {
		Index int64 `json:"index"`
		Delta struct {
			Content          json.RawMessage `json:"content"`
			Refusal          json.RawMessage `json:"refusal"`
			Reasoning        json.RawMessage `json:"reasoning"`
			ReasoningContent json.RawMessage `json:"reasoning_content"`
			ToolCalls        json.RawMessage `json:"tool_calls"`
			FunctionCall     json.RawMessage `json:"function_call"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// parseChunk is readChunk where no tools were offered.
func parseChunk(data []byte) (chunk, error) {
	c, err := readChunk(data)
	if err == nil && c.called {
		err = errTools
	}
	return c, err
}

// readChunk is the authority on what an event means. Its errors are *reported for an error object, else they say what is
// wrong with the event.
func readChunk(data []byte) (chunk, error) {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		if r := reportedIn(data); r != nil {
			return chunk{}, r
		}
		return chunk{}, fmt.Errorf("%w: %w", errNotChunk, err)
	}
	if present(w.Error) || w.Object == "error" {
		return chunk{}, reportedIn(data)
	}
	c := chunk{usage: parseUsage(w.Usage)}
	if w.Choices == nil {
		if c.usage == nil {
			return chunk{}, errNotChunk
		}
		return c, nil
	}
	if len(*w.Choices) == 0 {
		return c, nil
	}
	choice := (*w.Choices)[0]
	if len(*w.Choices) > 1 || choice.Index != 0 {
		return chunk{}, fmt.Errorf("%w: more choices than asked for", errNotChunk)
	}
	d := choice.Delta
	c.choices, c.called = 1, calls(d.ToolCalls) || present(d.FunctionCall)
	c.thought = len(literalText(d.Reasoning)) > 0 || len(literalText(d.ReasoningContent)) > 0
	if choice.FinishReason != nil && *choice.FinishReason != "" {
		if *choice.FinishReason == "error" {
			return chunk{}, &reported{}
		}
		c.finished = true
	}
	content := d.Content
	if !present(content) {
		content = d.Refusal
	}
	text, err := textOf(content)
	c.text = text
	return c, err
}

// textOf returns the inside of a string literal, nothing for null.
func textOf(value json.RawMessage) ([]byte, error) {
	if !present(value) {
		return nil, nil
	}
	if value[0] != '"' {
		return nil, fmt.Errorf("%w: content is not a string", errNotChunk)
	}
	if !utf8.Valid(value) {
		return nil, errText
	}
	return literalText(value), nil
}

// literalText returns the inside of a string literal, nothing for other values.
func literalText(value json.RawMessage) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

func present(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// calls reports whether a list of tool calls has any.
func calls(value json.RawMessage) bool {
	var list []json.RawMessage
	return present(value) && (json.Unmarshal(value, &list) != nil || len(list) > 0)
}

// parseUsage reads the provider's count. One that is not complete is as good as none.
func parseUsage(value json.RawMessage) *call.Usage {
	var u struct {
		In  *int64 `json:"prompt_tokens"`
		Out *int64 `json:"completion_tokens"`
	}
	if !present(value) || json.Unmarshal(value, &u) != nil || u.In == nil || u.Out == nil || *u.In < 0 || *u.Out < 0 {
		return nil
	}
	return &call.Usage{TokensIn: *u.In, TokensOut: *u.Out, Source: plane.SourceProvider}
}
