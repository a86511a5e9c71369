package scan

import (
	"modelgate.internal/dataplane/internal/upstream"
)

// The fields, as bits of what was seen.
const (
	seenPrompt = 1 << iota
	seenModel
	seenStream
	seenMessages
	seenSystem
	seenImage
	seenTemperature
	seenMaxTokens
	seenRole
	seenContent
)

// fast reads a body of the usual form and reports whether it did. If not, r is in no defined state.
func fast(body []byte, r *Request) bool {
	r.reset()
	r.Chat.MaxTokens = defaultMaxTokens
	s := scanner{b: body}
	if !s.take('{') {
		return false
	}
	seen := 0
	for {
		name, ok := s.name()
		if !ok {
			return false
		}
		bit := fieldOf(name)
		if bit == 0 || seen&bit != 0 || !s.field(bit, r) {
			return false
		}
		seen |= bit
		if s.take(',') {
			continue
		}
		break
	}
	if !s.take('}') || !s.atEnd() || seen&seenPrompt == 0 {
		return false
	}
	if seen&seenModel == 0 {
		r.Model = defaultModel
	}
	if seen&seenTemperature == 0 {
		r.Chat.Temperature = defaultTemperature
	}
	return true
}

func fieldOf(name []byte) int {
	switch string(name) {
	case "prompt":
		return seenPrompt
	case "model":
		return seenModel
	case "stream":
		return seenStream
	case "messages":
		return seenMessages
	case "system_prompt":
		return seenSystem
	case "image_b64":
		return seenImage
	case "temperature":
		return seenTemperature
	case "max_tokens":
		return seenMaxTokens
	}
	return 0
}

// field reads the value of a field into r.
func (s *scanner) field(bit int, r *Request) (ok bool) {
	switch bit {
	case seenPrompt:
		r.Chat.Prompt, ok = s.text()
		return ok && len(r.Chat.Prompt) > len(`""`)
	case seenModel:
		r.Model, ok = s.plain()
	case seenStream:
		r.Stream, ok = s.boolean()
	case seenMessages:
		return s.turns(r)
	case seenSystem:
		r.Chat.System, ok = s.textOrNull()
	case seenImage:
		r.Chat.Image, ok = s.textOrNull()
	case seenTemperature:
		r.Chat.Temperature, ok = s.temperature()
	case seenMaxTokens:
		r.Chat.MaxTokens, ok = s.maxTokens()
	}
	return ok
}

func (s *scanner) turns(r *Request) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for len(r.Chat.Turns) < turnsMax {
		turn, ok := s.turn()
		if !ok {
			return false
		}
		r.Chat.Turns = append(r.Chat.Turns, turn)
		if !s.take(',') {
			return s.take(']')
		}
	}
	return false
}

func (s *scanner) turn() (t upstream.Turn, ok bool) {
	if !s.take('{') {
		return t, false
	}
	seen := 0
	for {
		name, ok := s.name()
		if !ok {
			return t, false
		}
		switch string(name) {
		case "role":
			seen += seenRole // a repeated field makes another sum
			t.Role, ok = s.role()
		case "content":
			seen += seenContent
			t.Content, ok = s.text()
		default:
			return t, false
		}
		if !ok {
			return t, false
		}
		if !s.take(',') {
			break
		}
	}
	return t, seen == seenRole+seenContent && s.take('}')
}

func (s *scanner) role() ([]byte, bool) {
	literal, ok := s.text()
	if !ok {
		return nil, false
	}
	switch string(literal) {
	case `"system"`, `"user"`, `"assistant"`:
		return literal, true
	}
	return nil, false
}
