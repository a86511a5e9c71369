package bind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"modelgate.internal/shared/apierr"
)

// JSON parses body into the struct that dst points to. It returns nil or a 422 *apierr.Error that lists every violation
// in the order of the struct's fields. On an error dst is partly filled.
func JSON(body []byte, dst any) error {
	tree, item := parse(body)
	if item != nil {
		return apierr.Violations(*item)
	}
	return Value(tree, []any{"body"}, dst)
}

// Tree decodes body (numbers as json.Number) for a caller that judges it by [Value] and then passes it on. Of a name that is
// there twice the last value stays, so what is encoded from the tree is what was judged. The error is that of [JSON].
func Tree(body []byte) (any, error) {
	tree, item := parse(body)
	if item != nil {
		return nil, apierr.Violations(*item)
	}
	return tree, nil
}

// Value fills dst from a decoded JSON value (numbers as json.Number) that stands at loc.
func Value(tree any, loc []any, dst any) error {
	b := binder{}
	b.object(tree, loc, reflect.ValueOf(dst).Elem())
	return b.err()
}

// Query fills the struct that dst points to from query parameters; the json tag names the parameter. Of a repeated
// parameter the last value counts.
func Query(values url.Values, dst any) error {
	tree := make(map[string]any, len(values))
	for name, v := range values {
		if len(v) > 0 {
			tree[name] = v[len(v)-1]
		}
	}
	b := binder{query: true}
	b.object(tree, []any{"query"}, reflect.ValueOf(dst).Elem())
	for i := range b.items { // a query string has no enclosing object to show
		if b.items[i].Type == "missing" {
			b.items[i].Input = nil
		}
	}
	return b.err()
}

func parse(body []byte) (any, *apierr.Item) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, &apierr.Item{Type: "missing", Loc: []any{"body"}, Msg: "Field required"}
	}
	if !utf8.Valid(body) {
		return nil, invalidJSON(0, "invalid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		at := d.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		text := err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			at, text = int64(len(body)), "unexpected end of input"
		}
		return nil, invalidJSON(at, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalidJSON(d.InputOffset(), "extra data after the value")
	}
	if readable(tree) {
		return tree, nil
	}
	return nil, unreadable(tree, []any{"body"})
}

func invalidJSON(at int64, text string) *apierr.Item {
	return &apierr.Item{
		Type: "json_invalid", Loc: []any{"body", at}, Msg: "JSON decode error",
		Input: map[string]any{}, Ctx: map[string]any{"error": text},
	}
}

type binder struct {
	items []apierr.Item
	query bool // values are text: numbers and booleans are read out of it
}

func (b *binder) err() error {
	if len(b.items) == 0 {
		return nil
	}
	return apierr.Violations(b.items...)
}

func (b *binder) add(typ string, loc []any, msg string, input any, ctx map[string]any) {
	b.items = append(b.items, apierr.Item{
		Type: typ, Loc: append([]any(nil), loc...), Msg: msg, Input: echo(input, 0), Ctx: ctx,
	})
}

// object fills the struct dst from a JSON object.
func (b *binder) object(v any, loc []any, dst reflect.Value) {
	props, ok := v.(map[string]any)
	if !ok {
		b.add("model_attributes_type", loc, "Input should be a valid dictionary or object to extract fields from", v, nil)
		return
	}
	for i := range dst.NumField() {
		sf := dst.Type().Field(i)
		if sf.Anonymous {
			b.object(v, loc, dst.Field(i))
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" || !sf.IsExported() {
			continue
		}
		rule := parseRule(sf)
		value, present := props[name]
		at := append(loc[:len(loc):len(loc)], name)
		switch {
		case !present && rule.required:
			b.add("missing", at, "Field required", redact(props, dst.Type()), nil)
		case !present:
			rule.setDefault(dst.Field(i))
		case rule.secret:
			before := len(b.items)
			b.value(value, at, dst.Field(i), rule)
			for j := range b.items[before:] {
				b.items[before+j].Input = hidden
			}
		default:
			b.value(value, at, dst.Field(i), rule)
		}
	}
}

const hidden = "**********"

// redact returns props with the values of secret fields of the struct type t hidden.
func redact(props map[string]any, t reflect.Type) map[string]any {
	out := make(map[string]any, len(props))
	maps.Copy(out, props)
	for sf := range t.Fields() {
		if sf.Anonymous {
			out = redact(out, sf.Type)
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if _, ok := out[name]; ok && parseRule(sf).secret {
			out[name] = hidden
		}
	}
	return out
}

// Bounds of echoed input, so that a violation beside a large image does not send the image back.
const (
	echoRunesMax  = 200
	echoDigitsMax = 40
	echoItemsMax  = 20
	echoDepthMax  = 4
)

func echo(v any, depth int) any {
	switch v := v.(type) {
	case json.Number: // as text when a client might not be able to read it as a number
		if f, err := v.Float64(); len(v) > echoDigitsMax || err != nil || math.IsInf(f, 0) {
			return echo(v.String(), depth)
		}
	case string:
		if utf8.RuneCountInString(v) > echoRunesMax {
			return string([]rune(v)[:echoRunesMax]) + "…"
		}
	case []any:
		if depth == echoDepthMax {
			return "…"
		}
		out := make([]any, 0, min(len(v), echoItemsMax))
		for _, e := range v[:min(len(v), echoItemsMax)] {
			out = append(out, echo(e, depth+1))
		}
		return out
	case map[string]any:
		if depth == echoDepthMax {
			return "…"
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if len(out) == echoItemsMax {
				break
			}
			out[fmt.Sprint(echo(k, depth))] = echo(e, depth+1)
		}
		return out
	}
	return v
}
