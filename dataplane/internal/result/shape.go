package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Shape is what the contract says of one kind of answer.
type Shape struct {
	fields rule
	// more judges what fields cannot say. asked is the body of the request, decoded. It is only called when the fields are right.
	more func(asked, answer map[string]any) (wrong string)
}

// Check decodes an answer and says what is wrong with it, in words that follow "an answer that", or returns it.
func (s Shape) Check(asked map[string]any, body []byte) (answer map[string]any, wrong string) {
	answer, ok := decode(body)
	if !ok {
		return nil, "is not a JSON object"
	}
	if s.fields != nil {
		if wrong := s.fields(root, answer); wrong != "" {
			return nil, "does not fit: " + wrong
		}
	}
	if s.more != nil {
		if wrong := s.more(asked, answer); wrong != "" {
			return nil, "contradicts itself: " + wrong
		}
	}
	return answer, ""
}

func decode(body []byte) (map[string]any, bool) {
	if !utf8.Valid(body) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil || v == nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}

// Label says in the result who made it. The server's own word stays, unless the server is a simulator; a result without a word
// gets backend. The bytes are those of body but for that.
func Label(body []byte, answer map[string]any, backend string, simulator bool) ([]byte, error) {
	_, told := answer["backend"].(string)
	switch {
	case told && !simulator:
		return Compact(body)
	case !hasKey(answer, "backend"):
		end := bytes.LastIndexByte(body, '}')
		if end < 0 {
			return nil, errors.New("label a result: it is not an object")
		}
		separator := `,"backend":`
		if len(answer) == 0 {
			separator = `"backend":`
		}
		name, err := json.Marshal(backend)
		if err != nil {
			return nil, fmt.Errorf("label a result: %w", err)
		}
		out := make([]byte, 0, len(body)+len(separator)+len(name))
		out = append(out, body[:end]...)
		out = append(out, separator...)
		out = append(out, name...)
		return Compact(append(out, '}'))
	}
	answer["backend"] = backend
	return Encode(answer)
}

func hasKey(answer map[string]any, name string) bool {
	_, ok := answer[name]
	return ok
}

// Compact takes the white space out, so that a result fits on the line of an event.
func Compact(body []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(body))
	if err := json.Compact(&b, body); err != nil {
		return nil, fmt.Errorf("compact a result: %w", err)
	}
	return b.Bytes(), nil
}

// Encode writes a decoded value on one line, without the escapes for HTML.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
