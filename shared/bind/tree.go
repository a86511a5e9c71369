package bind

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"modelgate.internal/shared/apierr"
)

// plainDigits is the length up to which a number without an exponent is one that every reader can hold.
const plainDigits = 300

// readable reports whether a 64-bit float can hold every number of a tree. Whoever is sent another one makes a different number of it,
// infinity, or an error, so none is passed on, wherever it stands.
func readable(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return holds(v.String())
	case []any:
		for _, element := range v {
			if !readable(element) {
				return false
			}
		}
	case map[string]any:
		for _, value := range v {
			if !readable(value) {
				return false
			}
		}
	}
	return true
}

func holds(number string) bool {
	digits, _, exponent := strings.Cut(strings.ToLower(number), "e")
	if !exponent && len(digits) <= plainDigits {
		return true
	}
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && !math.IsInf(f, 0) && (f != 0 || !strings.ContainsAny(digits, "123456789"))
}

// unreadable is the first number of a tree that is not readable.
func unreadable(v any, loc []any) *apierr.Item {
	switch v := v.(type) {
	case []any:
		at := slices.IndexFunc(v, func(element any) bool { return !readable(element) })
		return unreadable(v[at], append(loc, at))
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !readable(v[name]) {
				return unreadable(v[name], append(loc, name))
			}
		}
	}
	return &apierr.Item{
		Type: "finite_number", Loc: loc, Msg: "Input should be a finite number that 64 bits can hold", Input: echo(v, 0),
	}
}

// typeOf is the JSON type of a decoded value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
