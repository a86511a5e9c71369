package result

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rule says what is wrong with a decoded JSON value (numbers as json.Number) that stands at a place, or "".
type rule func(at string, v any) (wrong string)

// field is a property of an object.
type field struct {
	name     string
	rule     rule
	optional bool
}

func need(name string, r rule) field { return field{name: name, rule: r} }
func may(name string, r rule) field  { return field{name: name, rule: r, optional: true} }

// object wants the fields; others are allowed.
func object(fields ...field) rule {
	return func(at string, v any) string {
		props, ok := v.(map[string]any)
		if !ok {
			return at + " is not an object"
		}
		for _, f := range fields {
			value, ok := props[f.name]
			if !ok && f.optional {
				continue
			}
			if !ok {
				return at + " lacks " + f.name
			}
			if wrong := f.rule(strings.TrimPrefix(at+"."+f.name, root+"."), value); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// root is how the whole answer is named.
const root = "the answer"

func list(items rule) rule { return listOf(0, math.MaxInt, items) }

// listOf wants from low to high items.
func listOf(low, high int, items rule) rule {
	return func(at string, v any) string {
		values, ok := v.([]any)
		if !ok {
			return at + " is not a list"
		}
		if len(values) < low || len(values) > high {
			return fmt.Sprintf("%s has %d items", at, len(values))
		}
		for i, item := range values {
			if wrong := items(at+"["+strconv.Itoa(i)+"]", item); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// number wants a finite number from low to high.
func number(low, high float64) rule {
	return func(at string, v any) string {
		n, ok := value(v)
		if !ok {
			return at + " is not a finite number"
		}
		if n < low || n > high {
			return fmt.Sprintf("%s is %g", at, n)
		}
		return ""
	}
}

func anyNumber() rule { return number(-math.MaxFloat64, math.MaxFloat64) }
func share() rule     { return number(0, 1) }
func notBelow0() rule { return number(0, math.MaxFloat64) }
func box() rule       { return listOf(4, 4, anyNumber()) }
func position() rule  { return listOf(3, 3, anyNumber()) }

// whole wants an integer from 0.
func whole() rule {
	return func(at string, v any) string {
		if n, ok := value(v); !ok || n != math.Trunc(n) || n < 0 || n > 1<<53 {
			return at + " is not a whole number from 0"
		}
		return ""
	}
}

func value(v any) (float64, bool) {
	text, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(text), 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// text wants a string that is not empty.
func text(at string, v any) string {
	if s, ok := v.(string); !ok || s == "" {
		return at + " is not a text"
	}
	return ""
}

func anyText(at string, v any) string {
	if _, ok := v.(string); !ok {
		return at + " is not a text"
	}
	return ""
}

func truth(at string, v any) string {
	if _, ok := v.(bool); !ok {
		return at + " is neither true nor false"
	}
	return ""
}

// word wants one of the words.
func word(words ...string) rule {
	return func(at string, v any) string {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			return at + " is not " + strings.Join(words, " or ")
		}
		return ""
	}
}

// nullable lets null pass.
func nullable(r rule) rule {
	return func(at string, v any) string {
		if v == nil {
			return ""
		}
		return r(at, v)
	}
}
