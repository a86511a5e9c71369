package upstream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
)

// whole is an answer that was not streamed, as slices of the body.
type whole struct {
	text   []byte      // inside of the JSON string literal
	called bool        // it calls a tool
	usage  *call.Usage // the provider's count; nil when it gave none
}

// scanWhole reads the usual answer: one choice with text, no tool calls, no error, and the provider's count. It refuses
// every other one, and what it accepts parseWhole accepts with the same meaning. The count is stored in use.
func scanWhole(data []byte, use *call.Usage) (text []byte, ok bool) {
	s := scanner{b: data}
	choices, usages := 0, 0
	s.want('{')
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "choices":
			choices++
			text = s.wholeChoice()
		case "error":
			s.bad = s.bad || !s.null()
		case "object":
			s.space()
			s.bad = s.bad || string(s.text()) != "chat.completion"
		case "usage":
			usages++
			*use = s.usage()
		default:
			s.skip(0)
		}
	}
	s.end()
	return text, !s.bad && choices == 1 && usages == 1
}

func (s *scanner) wholeChoice() (text []byte) {
	s.want('[')
	s.want('{')
	messages := 0
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "index":
			s.bad = s.count() != 0 || s.bad
		case "finish_reason":
			s.space()
			s.bad = s.bad || string(s.text()) == "error"
		case "message":
			messages++
			text = s.message()
		default:
			s.skip(0)
		}
	}
	s.want(']')
	s.bad = s.bad || messages != 1
	return text
}

func (s *scanner) message() (text []byte) {
	s.want('{')
	contents := 0
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "content":
			contents++
			s.space()
			text = s.text()
		case "tool_calls":
			if !s.null() {
				s.want('[')
				s.want(']')
			}
		case "function_call":
			s.bad = s.bad || !s.null()
		default:
			s.skip(0)
		}
	}
	s.bad = s.bad || contents != 1
	return text
}

func (s *scanner) usage() call.Usage {
	u := call.Usage{Source: plane.SourceProvider}
	ins, outs := 0, 0
	s.want('{')
	for first := true; s.more(&first, '}'); {
		switch string(s.key()) {
		case "prompt_tokens":
			ins++
			u.TokensIn = s.count()
		case "completion_tokens":
			outs++
			u.TokensOut = s.count()
		default:
			s.skip(0)
		}
	}
	s.bad = s.bad || ins != 1 || outs != 1
	return u
}

// parseWhole is readWhole where no tools were offered.
func parseWhole(data []byte) (whole, error) {
	w, err := readWhole(data)
	if err == nil && w.called {
		err = errTools
	}
	return w, err
}

// readWhole is the authority on what a whole answer means. Its errors are *reported for an error object, else they say
// what is wrong with the answer.
func readWhole(data []byte) (whole, error) {
	var w struct {
		Object  string `json:"object"`
		Choices []struct {
			Index   int64 `json:"index"`
			Message struct {
				Content      json.RawMessage `json:"content"`
				Refusal      json.RawMessage `json:"refusal"`
				ToolCalls    json.RawMessage `json:"tool_calls"`
				FunctionCall json.RawMessage `json:"function_call"`
			} `json:"message"`
			FinishReason *string `json:"finish_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return whole{}, fmt.Errorf("%w: %w", errNotChunk, err)
	}
	if present(w.Error) || w.Object == "error" {
		return whole{}, reportedIn(data)
	}
	if len(w.Choices) != 1 || w.Choices[0].Index != 0 {
		return whole{}, fmt.Errorf("%w: not one choice", errNotChunk)
	}
	choice := w.Choices[0]
	called := calls(choice.Message.ToolCalls) || present(choice.Message.FunctionCall)
	if choice.FinishReason != nil && *choice.FinishReason == "error" {
		return whole{}, &reported{}
	}
	content := choice.Message.Content
	if !present(content) {
		content = choice.Message.Refusal
	}
	if content == nil && !called {
		return whole{}, fmt.Errorf("%w: a message without content", errNotChunk)
	}
	text, err := textOf(content)
	return whole{text: text, called: called, usage: parseUsage(w.Usage)}, err
}

// literal returns text as a string literal of its own storage.
func literal(text []byte) []byte { return slices.Concat([]byte{'"'}, text, []byte{'"'}) }

// reportedIn returns the error that a JSON document reports, in one of the forms that are about, or nil.
func reportedIn(data []byte) *reported {
	var w struct {
		Object  string          `json:"object"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &w) != nil {
		return nil //nolint:nilerr // a document that does not say is no report
	}
	var inner struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(w.Error, &inner) == nil && inner.Message != nil {
		return &reported{plain(inner.Message), plain(inner.Type), codeIn(inner.Code)}
	}
	for _, value := range []json.RawMessage{w.Error, w.Message, w.Detail} {
		if present(value) {
			return &reported{plain(value), plain(w.Type), cmp.Or(codeIn(w.Code), codeIn(w.Status))}
		}
	}
	if w.Object == "error" {
		return &reported{}
	}
	return nil
}

// plain decodes a string, or the first of a list of validation errors as pydantic writes them. It returns nothing for other
// values.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var items []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(value, &items) != nil || len(items) == 0 {
		return ""
	}
	where := make([]string, len(items[0].Loc))
	for i, part := range items[0].Loc {
		where[i] = fmt.Sprint(part)
	}
	return strings.TrimPrefix(strings.Join(where, ".")+": ", ": ") + items[0].Msg
}

// passable makes an upstream's message fit for a client: one line, short, without URLs, addresses and files, and without the words
// that the upstream itself must not tell.
func passable(message string, secrets ...string) string {
	message = strings.ToValidUTF8(message, "")
	words := strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	for i, word := range words {
		hidden := strings.Contains(word, "://") || strings.Contains(word, "sk-") || isPlace(word)
		for _, secret := range secrets {
			hidden = hidden || secret != "" && strings.Contains(word, secret)
		}
		if hidden {
			words[i] = "[removed]"
		}
	}
	runes := []rune(strings.Join(words, " "))
	if len(runes) > messageRunesMax {
		runes = append(runes[:messageRunesMax-1], '…')
	}
	return string(runes)
}

// isPlace reports whether a word is an IP address, perhaps with a port, or the path of a file.
func isPlace(word string) bool {
	word = strings.Trim(word, `"'()[]<>{},;:.`)
	if _, err := netip.ParseAddr(word); err == nil {
		return strings.ContainsAny(word, ".:")
	}
	if _, err := netip.ParseAddrPort(word); err == nil {
		return true
	}
	return strings.HasPrefix(word, "/") && strings.Count(word, "/") > 1
}
