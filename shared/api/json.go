package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"
)

// appendJSON appends a YAML value to dst. encoding/json would sort the keys of a map; here they keep their order, so that
// readers and diffs of the served document see what was written.
func appendJSON(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case yaml.MapSlice:
		return appendObject(dst, v)
	case []any:
		var err error
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, element); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any, map[any]any:
		return nil, fmt.Errorf("encode openapi.yaml: a mapping lost its order: %v", v)
	default:
		return appendScalar(dst, v)
	}
}

func appendObject(dst []byte, m yaml.MapSlice) ([]byte, error) {
	dst = append(dst, '{')
	for i, item := range m {
		key, ok := item.Key.(string)
		if !ok {
			return nil, fmt.Errorf("encode openapi.yaml: key %v is not a string", item.Key)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendScalar(dst, key); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendJSON(dst, item.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendScalar writes text without HTML escapes: the document is served as JSON, never inside a page.
func appendScalar(dst []byte, value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encode openapi.yaml: %w", err)
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}
