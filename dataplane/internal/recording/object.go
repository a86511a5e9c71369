package recording

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

const audioName = "audio_base64"

// object is a JSON body. It is copied but for the text of the audio, and package bind judges the copy, so that only the
// place of that text has to be found here.
type object struct {
	source *source
	in     *bufio.Reader
	rest   []byte // the body with a placeholder for the audio's text
	cut    int    // where in rest the text was taken out; 0 when it was not
	length int64  // of that text

	depth   int
	key     bool // at depth 1, the next string is a key
	audio   bool // the last key is the audio's
	escaped bool

	text [textBytes]byte // base64 that is not decoded yet
	held int             // bytes of it
	pad  bool            // padding was seen
	out  []byte          // audio that was not read yet
	data [textBytes / 4 * 3]byte
	over bool // the text has ended
}

func newObject(s *source) *object {
	return &object{source: s, in: bufio.NewReaderSize(s, inputBytes)}
}

func (o *object) open() (bool, error) { return o.scan() }

// scan copies the body until the text of the audio begins, and reports false at its end.
func (o *object) scan() (bool, error) {
	for {
		c, err := o.copyByte()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch c {
		case '{', '[':
			o.depth++
			o.key, o.audio = o.depth == 1 && c == '{', false
		case '}', ']':
			o.depth--
		case ',':
			o.key = o.depth == 1
		case ':':
			o.key = o.key && o.depth != 1
		case '"':
			if o.depth == 1 && !o.key && o.audio {
				if found, err := o.begin(); found || err != nil {
					return found, err
				}
				continue
			}
			if err := o.copyString(); err != nil {
				return false, err
			}
		}
	}
}

// begin is where a string for the audio begins. An empty one is left to bind.
func (o *object) begin() (bool, error) {
	if next, err := o.in.Peek(1); err != nil || next[0] == '"' {
		return false, o.copyString()
	}
	if o.cut > 0 {
		return false, violation([]any{audioName}, "the body has it twice", "")
	}
	o.rest = append(o.rest, placeholder...)
	o.cut = len(o.rest)
	o.source.free = true
	return true, nil
}

// copyString copies a string up to its closing quote. At depth 1 it may be a key.
func (o *object) copyString() error {
	start := len(o.rest)
	for {
		c, err := o.copyByte()
		if errors.Is(err, io.EOF) {
			return nil // scan finds it again
		}
		if err != nil {
			return err
		}
		switch {
		case o.escaped:
			o.escaped = false
		case c == '\\':
			o.escaped = true
		case c == '"':
			if o.depth == 1 && o.key {
				o.audio = isAudio(o.rest[start-1:])
			}
			return nil
		}
	}
}

// isAudio compares a key, as it is written, with the audio's name.
func isAudio(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == audioName
	}
	var name string
	return json.Unmarshal(quoted, &name) == nil && name == audioName
}

func (o *object) copyByte() (byte, error) {
	c, err := o.in.ReadByte()
	if err != nil {
		return 0, err //nolint:wrapcheck // the source's errors are answers
	}
	if o.rest = append(o.rest, c); len(o.rest) > fieldsBytesMax {
		return 0, errRoom
	}
	return c, nil
}

// Read implements body.
func (o *object) Read(p []byte) (int, error) {
	for len(o.out) == 0 {
		if o.over {
			return 0, io.EOF
		}
		if err := o.gather(); err != nil {
			return 0, err
		}
		if err := o.decode(); err != nil {
			return 0, err
		}
	}
	n := copy(p, o.out)
	o.out = o.out[n:]
	return n, nil
}

// gather takes the escapes off the text until there is enough of it to decode, or its end.
func (o *object) gather() error {
	for o.held < len(o.text) {
		c, err := o.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return o.notJSON("unexpected end of input")
		}
		if err != nil {
			return err //nolint:wrapcheck // the source's errors are answers
		}
		o.length++
		if c == '"' {
			o.over, o.source.free = true, false
			o.length--
			return nil
		}
		switch {
		case c < ' ':
			return o.notJSON("control character in a string")
		case c == '\\':
			if c, err = o.escape(); err != nil {
				return err
			}
		}
		switch {
		case alphabet(c) && !o.pad:
		case c == '=':
			o.pad = true
		case c == '\n': // an escaped end of a line of base64
			continue
		default:
			return o.notBase64()
		}
		o.text[o.held] = c
		o.held++
	}
	return nil
}

// escape reads what follows a backslash. Some encoders write \/ and \u002b.
func (o *object) escape() (byte, error) {
	c, err := o.in.ReadByte()
	if err != nil {
		return 0, o.source.cut(err, o.notJSON)
	}
	o.length++
	switch c {
	case '/':
		return '/', nil
	case 'n', 'r':
		return '\n', nil
	case 'u':
		var digits [4]byte
		if _, err := io.ReadFull(o.in, digits[:]); err != nil {
			return 0, o.source.cut(err, o.notJSON)
		}
		o.length += 4
		if n, err := strconv.ParseUint(string(digits[:]), 16, 8); err == nil && n > ' ' {
			return byte(n), nil
		}
	}
	return 0, o.notBase64()
}

// decode turns what was gathered into audio.
func (o *object) decode() error {
	if o.over && o.held%4 != 0 {
		return violation([]any{audioName}, "the base64 is incomplete: its length is no multiple of 4", "")
	}
	n, err := base64.StdEncoding.Decode(o.data[:], o.text[:o.held])
	if err != nil {
		return o.notBase64()
	}
	o.out, o.held = o.data[:n], 0
	return nil
}

func (o *object) finish() error {
	o.source.free = false
	o.rest = append(o.rest, '"')
	o.audio = false
	if _, err := o.scan(); err != nil {
		return err
	}
	return nil
}

func (o *object) bind(dst any) error {
	err := bind.JSON(o.rest, dst)
	if err == nil {
		return nil
	}
	e := apierr.From(err)
	for _, item := range e.Items { // a place in the copy becomes one in the body
		if at, ok := item.Loc[len(item.Loc)-1].(int64); ok && item.Type == "json_invalid" && o.cut > 0 && at > int64(o.cut) {
			item.Loc[len(item.Loc)-1] = at - int64(len(placeholder)) + o.length
		}
	}
	return fmt.Errorf("bind fields: %w", e)
}

// filename looks into what was copied so far.
func (o *object) filename() string {
	var named struct {
		Filename string `json:"filename"`
		Format   string `json:"format"`
	}
	if json.Unmarshal(append(bytes.Clone(o.rest), `"}`...), &named) != nil {
		return ""
	}
	if named.Filename == "" && named.Format != "" {
		return "." + named.Format
	}
	return named.Filename
}

func (o *object) notBase64() error {
	return violation([]any{audioName},
		"this is not base64 of the standard alphabet, without a data: prefix; wrong at character "+strconv.FormatInt(o.length, 10), "")
}

func (o *object) notJSON(what string) error {
	at := int64(o.cut-len(placeholder)) + o.length
	return apierr.Violations(apierr.Item{
		Type: "json_invalid", Loc: []any{"body", at}, Msg: "JSON decode error", Input: map[string]any{}, Ctx: map[string]any{"error": what},
	})
}

// cut makes a violation of the end of a body inside a string.
func (s *source) cut(err error, violation func(string) error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return violation("unexpected end of input")
	}
	return err
}

// alphabet reports whether c is of base64's standard alphabet.
func alphabet(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}
