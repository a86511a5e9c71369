package openai

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// maxEchoTokens bounds how much of the user's message is repeated in the answer.
	maxEchoTokens = 512
	// argumentRunes is the length of a streamed fragment of tool-call arguments.
	argumentRunes = 8
)

// Usage is the token count of one answer.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// ToolCall is one call in an answer or in the history of a conversation.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Answer is a composed answer, ready to be encoded either way.
type Answer struct {
	// ID is the completion's id, also in every chunk.
	ID string
	// Model is repeated as the caller wrote it.
	Model string
	// Created is in Unix seconds.
	Created int64
	// Tokens is the text, token by token; empty if Calls is not.
	Tokens []string
	// Calls are the tool calls.
	Calls []ToolCall
	// FinishReason is "stop", "length" or "tool_calls".
	FinishReason string
	// Usage counts by the rule in the package comment.
	Usage Usage
	// Whole is the JSON of an answer that is no completion, for the other protocols of the simulator; nothing else counts then.
	Whole []byte
}

// Compose makes the answer to a request. said is the last user message as it is to be repeated.
func Compose(req *Request, said, id string, created int64) *Answer {
	a := &Answer{ID: id, Model: req.Model, Created: created}
	a.Usage.PromptTokens = promptTokens(req)
	if tools := chosenTools(req, said); len(tools) > 0 {
		a.compose(tools, said, req.Limit())
	} else {
		a.SetText(composeText(req, said), req.Limit(), req.Stop)
	}
	return a
}

// SetText replaces the answer by a text, cut at the first stop sequence and after limit tokens (0 for no limit).
func (a *Answer) SetText(text string, limit int, stop []string) {
	for _, s := range stop {
		if i := strings.Index(text, s); s != "" && i >= 0 {
			text = text[:i]
		}
	}
	a.Calls, a.Tokens, a.FinishReason = nil, Tokens(text), "stop"
	if limit > 0 && len(a.Tokens) > limit {
		a.Tokens, a.FinishReason = a.Tokens[:limit], "length"
	}
	a.count(len(a.Tokens))
}

// Text is the whole text of the answer.
func (a *Answer) Text() string { return strings.Join(a.Tokens, "") }

func (a *Answer) count(completion int) {
	a.Usage.CompletionTokens = completion
	a.Usage.TotalTokens = a.Usage.PromptTokens + completion
}

// compose fills the tool calls. One token is the call's opening, one more each fragment of its arguments.
func (a *Answer) compose(tools []*Tool, said string, limit int) {
	a.FinishReason = "tool_calls"
	used := 0
	for i, t := range tools {
		if limit > 0 && used == limit {
			a.FinishReason = "length"
			break
		}
		used++
		var call ToolCall
		call.ID, call.Type = fmt.Sprintf("call_%s_%d", strings.TrimPrefix(a.ID, "chatcmpl-"), i), "function"
		call.Function.Name = t.Function.Name
		fragments := pieces(string(encode(instance(t.Function.Parameters, said))), argumentRunes)
		if limit > 0 && used+len(fragments) > limit {
			fragments, a.FinishReason = fragments[:limit-used], "length"
		}
		used += len(fragments)
		call.Function.Arguments = strings.Join(fragments, "")
		a.Calls = append(a.Calls, call)
	}
	a.count(used)
}

func promptTokens(req *Request) int {
	n := 0
	for i := range req.Messages {
		c := &req.Messages[i].Content
		n += CountTokens(c.Text) + PartTokens*(c.Images+c.Others)
	}
	return n
}

// chosenTools applies the tool rule of the package comment.
func chosenTools(req *Request, said string) []*Tool {
	switch req.ToolChoice.Mode {
	case "named":
		return []*Tool{req.tool(req.ToolChoice.Name)}
	case "required":
		if named := namedTools(req, said); len(named) > 0 {
			return named
		}
		return []*Tool{&req.Tools[0]}
	case "", "auto":
		if req.Messages[len(req.Messages)-1].Role == "user" {
			return namedTools(req, said)
		}
	}
	return nil
}

// namedTools are the offered tools for which the text says "call NAME".
func namedTools(req *Request, said string) []*Tool {
	var out []*Tool
	words := strings.Fields(said)
	for i := range req.Tools {
		for j := 1; j < len(words); j++ {
			if strings.EqualFold(words[j-1], "call") && strings.Trim(words[j], ".,;:!?\"'`") == req.Tools[i].Function.Name {
				out = append(out, &req.Tools[i])
				break
			}
		}
	}
	if req.ParallelToolCalls != nil && !*req.ParallelToolCalls && len(out) > 1 {
		out = out[:1]
	}
	return out
}

func composeText(req *Request, said string) string {
	if f := req.ResponseFormat; f != nil && f.Type == "json_schema" && len(f.JSONSchema.Schema) > 0 {
		return string(encode(instance(f.JSONSchema.Schema, said)))
	} else if f != nil && f.Type != "text" {
		return string(encode(struct {
			Simulated bool   `json:"simulated"`
			YouSaid   string `json:"you_said"`
		}{true, said}))
	}
	var b strings.Builder
	b.WriteString("Simulated answer.")
	if last := &req.Messages[len(req.Messages)-1]; last.Role == "tool" {
		fmt.Fprintf(&b, " The tool returned: %s", echo(last.Content.Text))
	} else if said == "" {
		b.WriteString(" You said nothing.")
	} else {
		fmt.Fprintf(&b, " You said: %s", echo(said))
	}
	if i := req.LastUser(); i >= 0 && req.Messages[i].Content.Images > 0 {
		fmt.Fprintf(&b, " [images received: %d]", req.Messages[i].Content.Images)
	}
	if len(req.Messages) > 1 {
		fmt.Fprintf(&b, " [messages received: %d]", len(req.Messages))
	}
	return b.String()
}

func echo(s string) string {
	if tokens := Tokens(s); len(tokens) > maxEchoTokens {
		return strings.Join(tokens[:maxEchoTokens], "") + " [shortened]"
	}
	return s
}

// instance is a small value that fits a JSON schema, as well as the simple rules of the package comment go.
func instance(schema json.RawMessage, said string) any {
	root := map[string]any{}
	if json.Unmarshal(schema, &root) != nil || len(root) == 0 {
		return map[string]any{}
	}
	return (&schemaWalk{root: root, said: said}).value(root, maxSchemaDepth)
}
