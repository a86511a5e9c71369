package openai

import "strings"

const (
	// maxSchemaDepth bounds recursion through nested and self-referring schemas.
	maxSchemaDepth = 16
	// maxSchemaRunes bounds a string that is filled with the user's text.
	maxSchemaRunes = 200
)

// schemaWalk builds an instance of a schema.
type schemaWalk struct {
	root map[string]any
	said string
}

func (w *schemaWalk) value(schema map[string]any, depth int) any {
	if depth == 0 {
		return nil
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := schema[key]; ok {
			return v
		}
	}
	if enum, ok := schema["enum"].([]any); ok && len(enum) > 0 {
		return enum[0]
	}
	if ref, ok := schema["$ref"].(string); ok {
		return w.value(w.resolve(ref), depth-1)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := schema[key].([]any); ok && len(list) > 0 {
			first, _ := list[0].(map[string]any)
			return w.value(first, depth-1)
		}
	}
	return w.typed(schema, depth)
}

func (w *schemaWalk) typed(schema map[string]any, depth int) any {
	kind, _ := schema["type"].(string)
	if list, ok := schema["type"].([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "string":
		return w.text(schema)
	case "integer", "number":
		if low, ok := schema["minimum"]; ok {
			return low
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		items, _ := schema["items"].(map[string]any)
		if items == nil {
			return []any{}
		}
		return []any{w.value(items, depth-1)}
	}
	return w.object(schema, depth)
}

func (w *schemaWalk) text(schema map[string]any) string {
	limit := maxSchemaRunes
	if high, ok := schema["maxLength"].(float64); ok && int(high) < limit {
		limit = max(int(high), 0)
	}
	if runes := []rune(w.said); len(runes) > limit {
		return string(runes[:limit])
	}
	return w.said
}

// object fills the required properties, or all of them where the schema requires none.
func (w *schemaWalk) object(schema map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	wanted := map[string]bool{}
	for _, name := range required {
		if s, ok := name.(string); ok {
			wanted[s] = true
		}
	}
	for name, p := range properties {
		if sub, ok := p.(map[string]any); ok && (len(wanted) == 0 || wanted[name]) {
			out[name] = w.value(sub, depth-1)
		}
	}
	return out
}

// resolve follows a reference inside the document; anything else is an empty schema.
func (w *schemaWalk) resolve(ref string) map[string]any {
	at := w.root
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		at, _ = at[name].(map[string]any)
	}
	return at
}
