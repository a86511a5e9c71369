package openai

import (
	"encoding/json"
	"iter"
)

// Fingerprint is the system_fingerprint of every answer: it says what answered.
const Fingerprint = "modelgate-mockmodel"

// Kind says what part of a stream a chunk is.
type Kind int

// The kinds of chunk, in the order in which they appear.
const (
	KindRole Kind = iota
	KindContent
	KindFinish
	KindUsage
)

// Chunk is one event of a stream: its JSON without any SSE framing.
type Chunk struct {
	Kind Kind
	Data []byte
}

type wireChunk struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint"`
	Choices           []wireChoice    `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"`
}

type wireChoice struct {
	Index        int     `json:"index"`
	Delta        Delta   `json:"delta"`
	Logprobs     *string `json:"logprobs"`
	FinishReason *string `json:"finish_reason"`
}

// Delta is what a chunk adds to the message.
type Delta struct {
	Role    string      `json:"role,omitempty"`
	Content *string     `json:"content,omitempty"`
	Calls   []DeltaCall `json:"tool_calls,omitempty"`
}

// DeltaCall is what a chunk adds to one tool call.
type DeltaCall struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function DeltaFunction `json:"function"`
}

// DeltaFunction carries the name once and then fragments of the arguments.
type DeltaFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// Chunks yields the events of a stream in order: role, content or tool-call fragments, finish, and with usage the
// chunk that has no choices. "[DONE]" is framing and left to the caller.
func (a *Answer) Chunks(usage bool) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		if a.Whole != nil {
			yield(Chunk{KindContent, a.Whole})
			return
		}
		empty := ""
		if !yield(Chunk{KindRole, a.Event(Delta{Role: "assistant", Content: &empty}, "", usage)}) {
			return
		}
		for d := range a.deltas() {
			if !yield(Chunk{KindContent, a.Event(d, "", usage)}) {
				return
			}
		}
		if !yield(Chunk{KindFinish, a.Event(Delta{}, a.FinishReason, usage)}) || !usage {
			return
		}
		c := a.chunk()
		c.Choices, c.Usage = []wireChoice{}, encode(a.Usage)
		yield(Chunk{KindUsage, encode(c)})
	}
}

// Event encodes one chunk with one choice. An empty finish is null; usage adds "usage":null, as the real service
// does in every chunk but the last when usage was asked for.
func (a *Answer) Event(d Delta, finish string, usage bool) []byte {
	c := a.chunk()
	c.Choices = []wireChoice{{Delta: d, FinishReason: orNull(finish)}}
	if usage {
		c.Usage = json.RawMessage("null")
	}
	return encode(c)
}

func (a *Answer) chunk() wireChunk {
	return wireChunk{ID: a.ID, Object: "chat.completion.chunk", Created: a.Created, Model: a.Model, SystemFingerprint: Fingerprint}
}

func (a *Answer) deltas() iter.Seq[Delta] {
	return func(yield func(Delta) bool) {
		for i := range a.Tokens {
			if !yield(Delta{Content: &a.Tokens[i]}) {
				return
			}
		}
		for i, call := range a.Calls {
			open := DeltaCall{Index: i, ID: call.ID, Type: call.Type, Function: DeltaFunction{Name: call.Function.Name}}
			if !yield(Delta{Calls: []DeltaCall{open}}) {
				return
			}
			for _, part := range pieces(call.Function.Arguments, argumentRunes) {
				next := DeltaCall{Index: i, Function: DeltaFunction{Arguments: part}}
				if !yield(Delta{Calls: []DeltaCall{next}}) {
					return
				}
			}
		}
	}
}

// JSON encodes the answer as one chat.completion object.
func (a *Answer) JSON(usage bool) []byte {
	if a.Whole != nil {
		return a.Whole
	}
	type message struct {
		Role    string     `json:"role"`
		Content *string    `json:"content"`
		Refusal *string    `json:"refusal"`
		Calls   []ToolCall `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index        int     `json:"index"`
		Message      message `json:"message"`
		Logprobs     *string `json:"logprobs"`
		FinishReason string  `json:"finish_reason"`
	}
	out := struct {
		ID                string   `json:"id"`
		Object            string   `json:"object"`
		Created           int64    `json:"created"`
		Model             string   `json:"model"`
		SystemFingerprint string   `json:"system_fingerprint"`
		Choices           []choice `json:"choices"`
		Usage             *Usage   `json:"usage,omitempty"`
	}{ID: a.ID, Object: "chat.completion", Created: a.Created, Model: a.Model, SystemFingerprint: Fingerprint}
	m := message{Role: "assistant", Calls: a.Calls}
	if len(a.Calls) == 0 {
		text := a.Text()
		m.Content = &text
	}
	out.Choices = []choice{{Message: m, FinishReason: a.FinishReason}}
	if usage {
		out.Usage = &a.Usage
	}
	return encode(out)
}
