package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/shared/api"
)

// Wrong is a documented JSON body in which one value has a type that the contract refuses, or is a number that it cannot be.
type Wrong struct {
	Operation api.Operation
	Body      string
	At        string // where the value is: "frames[0].detections[0].bbox[1]"
	Value     string // the JSON text that stands there
}

// WrongTypes returns, for every operation of a plane that takes a JSON body, its examples with each typed member in turn replaced by
// values of every other JSON type. Members that an example lacks are added. A value that the schema allows, or does not type, is not tried.
func WrongTypes(t *testing.T, plane string) []Wrong {
	t.Helper()
	d := read(t)
	var all []Wrong
	for _, op := range d.operations {
		if op.Plane != plane {
			continue
		}
		content := object(dig(d.root, "paths", op.Path, strings.ToLower(op.Method), "requestBody", "content", "application/json"))
		for _, example := range examples(content) {
			w := walker{document: d, op: op}
			w.value(object(content["schema"]), example, example, nil)
			all = append(all, w.found...)
		}
	}
	if len(all) == 0 {
		t.Fatalf("the contract has no JSON body in the plane %s", plane)
	}
	return all
}

// WrongArguments is [WrongTypes] for a schema that stands for a free-form member: the body is a value that the schema describes.
func WrongArguments(t *testing.T, schema string, example map[string]any) []Wrong {
	t.Helper()
	d := read(t)
	of := object(dig(d.root, "components", "schemas", schema))
	if of == nil {
		t.Fatalf("the contract has no schema %s", schema)
	}
	w := walker{document: d}
	w.value(of, example, example, nil)
	return w.found
}

type document struct {
	root       map[string]any
	operations []api.Operation
}

func read(t *testing.T) document {
	t.Helper()
	text, err := api.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var d document
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	if err := from.Decode(&d.root); err != nil {
		t.Fatal(err)
	}
	if d.operations, err = api.Operations(); err != nil {
		t.Fatal(err)
	}
	return d
}

// examples are the bodies that the document shows of a media type.
func examples(content map[string]any) []any {
	if one, ok := content["example"]; ok {
		return []any{one}
	}
	var list []any
	named := object(content["examples"])
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, object(named[name])["value"])
	}
	return list
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func dig(v any, names ...string) any {
	for _, name := range names {
		v = object(v)[name]
	}
	return v
}

// resolve follows references and puts what allOf names into one schema.
func (d document) resolve(schema map[string]any) map[string]any {
	for {
		reference, ok := schema["$ref"].(string)
		if !ok {
			break
		}
		schema = object(dig(d.root, strings.Split(strings.TrimPrefix(reference, "#/"), "/")...))
	}
	parts, _ := schema["allOf"].([]any)
	if len(parts) == 0 {
		return schema
	}
	whole := maps.Clone(schema)
	delete(whole, "allOf")
	for _, part := range parts {
		for name, value := range d.resolve(object(part)) {
			if name == "properties" {
				properties := maps.Clone(object(value))
				maps.Copy(properties, object(whole[name]))
				value = properties
			}
			whole[name] = value
		}
	}
	return whole
}

// walker puts wrong values into one example.
type walker struct {
	document
	op    api.Operation
	found []Wrong
}

// value tries the place at, where a body has v, and what is below it.
func (w *walker) value(schema map[string]any, body, v any, at []any) {
	schema = w.resolve(schema)
	types := typesOf(schema)
	if len(types) == 0 {
		return
	}
	for _, wrong := range wrongs() {
		if !slices.ContainsFunc(wrong.fits, func(name string) bool { return slices.Contains(types, name) }) {
			w.try(body, at, wrong.text)
		}
	}
	switch {
	case slices.Contains(types, "object"):
		properties := object(schema["properties"])
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			value, ok := object(v)[name]
			w.below(object(properties[name]), body, value, ok, append(at[:len(at):len(at)], name))
		}
	case slices.Contains(types, "array") && schema["items"] != nil:
		list, _ := v.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		w.below(object(schema["items"]), body, list[0], list[0] != nil, append(at[:len(at):len(at)], 0))
	}
}

// below tries a member or an element. One that the body lacks is put there first.
func (w *walker) below(schema map[string]any, body, v any, there bool, at []any) {
	if !there {
		v = w.sample(schema)
		body = with(body, at, v)
	}
	w.value(schema, body, v, at)
}

// typesOf are the JSON types that a schema allows, none when it does not say.
func typesOf(schema map[string]any) []string {
	switch t := schema["type"].(type) {
	case string:
		return []string{t}
	case []any:
		types := make([]string, len(t))
		for i := range t {
			types[i], _ = t[i].(string)
		}
		return types
	}
	return nil
}

// sample is a value that a schema allows.
func (w *walker) sample(schema map[string]any) any {
	schema = w.resolve(schema)
	if list, _ := schema["enum"].([]any); len(list) > 0 {
		return list[0]
	}
	if value, ok := schema["default"]; ok && value != nil {
		return value
	}
	switch types := typesOf(schema); {
	case slices.Contains(types, "object"):
		made := map[string]any{}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			made[name.(string)] = w.sample(object(object(schema["properties"])[name.(string)])) //nolint:forcetypeassert // the document is ours
		}
		return made
	case slices.Contains(types, "array"):
		length, _ := schema["minItems"].(json.Number)
		n, _ := length.Int64()
		list := make([]any, max(n, 1))
		for i := range list {
			list[i] = w.sample(object(schema["items"]))
		}
		return list
	case slices.Contains(types, "string"):
		return "x"
	case slices.Contains(types, "boolean"):
		return true
	}
	return json.Number("1")
}

// wrong is a JSON text and the types of a schema that it would be right for.
type wrong struct {
	text string
	fits []string
}

func wrongs() []wrong {
	number, integer := []string{"number"}, []string{"number", "integer"}
	return []wrong{
		{"null", []string{"null"}},
		{"false", []string{"boolean"}},
		{"true", []string{"boolean"}},
		{"0", integer},
		{"1", integer},
		{"1.0", integer},
		{"1.5", number},
		{"1e-400", nil}, // zero, where it is read as a number of 64 bits
		{"9223372036854775808", number},
		{"1e300", number},
		{"1e400", nil}, // no number that a machine has
		{"-1e400", nil},
		{`"1"`, []string{"string"}},
		{`"true"`, []string{"string"}},
		{`"NaN"`, []string{"string"}},
		{"[]", []string{"array"}},
		{"[null]", []string{"array"}},
		{"{}", []string{"object"}},
		{`{"a":1}`, []string{"object"}},
	}
}

// try keeps a body with a text in a place.
func (w *walker) try(body any, at []any, text string) {
	changed, err := json.Marshal(with(body, at, json.RawMessage(text)))
	if err != nil {
		panic(fmt.Sprintf("BUG: apitest: a body does not encode: %v", err))
	}
	w.found = append(w.found, Wrong{Operation: w.op, Body: string(changed), At: place(at), Value: text})
}

// with returns a copy of v that has something else in a place below it.
func with(v any, at []any, set any) any {
	if len(at) == 0 {
		return set
	}
	switch step := at[0].(type) {
	case string:
		changed := map[string]any{}
		maps.Copy(changed, object(v))
		changed[step] = with(changed[step], at[1:], set)
		return changed
	case int:
		list, _ := v.([]any)
		changed := append(make([]any, 0, max(len(list), 1)), list...)
		if len(changed) == 0 {
			changed = append(changed, nil)
		}
		changed[step] = with(changed[step], at[1:], set)
		return changed
	}
	return v
}

func place(at []any) string {
	var text strings.Builder
	for _, step := range at {
		switch step := step.(type) {
		case string:
			if text.Len() > 0 {
				text.WriteByte('.')
			}
			text.WriteString(step)
		case int:
			fmt.Fprintf(&text, "[%d]", step)
		}
	}
	return text.String()
}
