package bind

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// value fills one field from a decoded JSON value.
func (b *binder) value(v any, loc []any, dst reflect.Value, r rule) {
	if dst.Kind() == reflect.Pointer {
		if v == nil {
			dst.SetZero()
			return
		}
		target := reflect.New(dst.Type().Elem())
		b.value(v, loc, target.Elem(), r)
		dst.Set(target)
		return
	}
	switch dst.Interface().(type) {
	case time.Time:
		b.datetime(v, loc, dst)
		return
	case json.RawMessage:
		b.raw(v, dst)
		return
	}
	switch dst.Kind() {
	case reflect.String:
		b.text(v, loc, dst, r)
	case reflect.Bool:
		b.boolean(v, loc, dst)
	case reflect.Int, reflect.Int64, reflect.Int32:
		b.integer(v, loc, dst, r)
	case reflect.Float64:
		b.float(v, loc, dst, r)
	case reflect.Slice:
		b.list(v, loc, dst, r)
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			b.add("dict_type", loc, "Input should be a valid dictionary", v, nil)
			return
		}
		dst.Set(reflect.ValueOf(m))
	case reflect.Struct:
		b.object(v, loc, dst)
	case reflect.Interface:
		if r.types != nil && !slices.Contains(r.types, typeOf(v)) {
			b.add("value_error", loc, "Value error, expected "+strings.Join(r.types, " or "), v, map[string]any{"error": "a value of type " + typeOf(v)})
			return
		}
		if v != nil {
			dst.Set(reflect.ValueOf(v))
		}
	default:
		panic("BUG: bind: no rule for a field of kind " + dst.Kind().String())
	}
}

func (b *binder) text(v any, loc []any, dst reflect.Value, r rule) {
	s, ok := v.(string)
	if !ok {
		b.add("string_type", loc, "Input should be a valid string", v, nil)
		return
	}
	n := float64(utf8.RuneCountInString(s))
	switch {
	case r.enum != nil && !slices.Contains(r.enum, s):
		b.add("literal_error", loc, "Input should be "+r.expected(), v, map[string]any{"expected": r.expected()})
	case r.min != nil && n < *r.min:
		b.add("string_too_short", loc, fmt.Sprintf("String should have at least %v character%s", *r.min, plural(*r.min)),
			v, map[string]any{"min_length": *r.min})
	case r.max != nil && n > *r.max:
		b.add("string_too_long", loc, fmt.Sprintf("String should have at most %v character%s", *r.max, plural(*r.max)),
			v, map[string]any{"max_length": *r.max})
	}
	dst.SetString(s)
}

func (b *binder) boolean(v any, loc []any, dst reflect.Value) {
	switch v := v.(type) {
	case bool:
		dst.SetBool(v)
		return
	case string:
		if !b.query {
			break
		}
		switch strings.ToLower(v) {
		case "true", "t", "1", "yes", "y", "on":
			dst.SetBool(true)
			return
		case "false", "f", "0", "no", "n", "off":
			dst.SetBool(false)
			return
		}
		b.add("bool_parsing", loc, "Input should be a valid boolean, unable to interpret input", v, nil)
		return
	}
	b.add("bool_type", loc, "Input should be a valid boolean", v, nil)
}

func (b *binder) integer(v any, loc []any, dst reflect.Value, r rule) {
	text, ok := b.number(v)
	if !ok {
		b.add("int_type", loc, "Input should be a valid integer", v, nil)
		return
	}
	n, typ, msg := wholeNumber(text)
	if typ != "" && b.query {
		typ, msg = "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
	}
	if typ != "" {
		b.add(typ, loc, msg, v, nil)
		return
	}
	b.bounds(float64(n), v, loc, r)
	dst.SetInt(n)
}

// number returns the text of a number.
func (b *binder) number(v any) (text string, ok bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case string:
		return strings.TrimSpace(v), b.query
	}
	return "", false
}

// wholeNumber reads an integer that may be written with a fraction of zeros or an exponent.
func wholeNumber(s string) (n int64, typ, msg string) {
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0") == "" {
		s = whole
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, "", ""
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		return 0, "int_type", "Input should be a valid integer"
	case f != math.Trunc(f):
		return 0, "int_from_float", "Input should be a valid integer, got a number with a fractional part"
	case math.Abs(f) >= 1<<63:
		return 0, "int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size"
	}
	return int64(f), "", ""
}

func (b *binder) float(v any, loc []any, dst reflect.Value, r rule) {
	text, ok := b.number(v)
	if !ok {
		b.add("float_type", loc, "Input should be a valid number", v, nil)
		return
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		b.add("float_parsing", loc, "Input should be a valid number, unable to parse string as a number", v, nil)
		return
	case err != nil || math.IsInf(n, 0) || math.IsNaN(n):
		b.add("finite_number", loc, "Input should be a finite number", v, nil)
		return
	}
	b.bounds(n, v, loc, r)
	dst.SetFloat(n)
}

func (b *binder) bounds(n float64, v any, loc []any, r rule) {
	switch {
	case r.min != nil && n < *r.min:
		b.add("greater_than_equal", loc, fmt.Sprintf("Input should be greater than or equal to %s", show(*r.min)), v,
			map[string]any{"ge": *r.min})
	case r.max != nil && n > *r.max:
		b.add("less_than_equal", loc, fmt.Sprintf("Input should be less than or equal to %s", show(*r.max)), v,
			map[string]any{"le": *r.max})
	}
}

func (b *binder) list(v any, loc []any, dst reflect.Value, r rule) {
	items, ok := v.([]any)
	if !ok {
		b.add("list_type", loc, "Input should be a valid list", v, nil)
		return
	}
	n := float64(len(items))
	if r.max != nil && n > *r.max {
		b.add("too_long", loc, fmt.Sprintf("List should have at most %s items after validation, not %d", show(*r.max), len(items)),
			v, map[string]any{"field_type": "List", "max_length": *r.max, "actual_length": len(items)})
		return
	}
	if r.min != nil && n < *r.min {
		b.add("too_short", loc, fmt.Sprintf("List should have at least %s item%s after validation, not %d",
			show(*r.min), plural(*r.min), len(items)),
			v, map[string]any{"field_type": "List", "min_length": *r.min, "actual_length": len(items)})
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		b.value(item, append(loc[:len(loc):len(loc)], i), out.Index(i), rule{enum: r.enum})
	}
	dst.Set(out)
}

// datetime takes RFC 3339, the only form that the contract names.
func (b *binder) datetime(v any, loc []any, dst reflect.Value) {
	s, ok := v.(string)
	if !ok {
		b.add("datetime_type", loc, "Input should be a valid datetime", v, nil)
		return
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		const why = "expected RFC 3339, for example 2030-01-31T12:00:00Z"
		b.add("datetime_parsing", loc, "Input should be a valid datetime, "+why, v, map[string]any{"error": why})
		return
	}
	dst.Set(reflect.ValueOf(t))
}

// raw keeps a value of any shape as JSON text.
func (b *binder) raw(v any, dst reflect.Value) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: bind: decoded JSON does not encode: %v", err))
	}
	dst.SetBytes(text)
}

func plural(n float64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func show(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
