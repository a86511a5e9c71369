package api

import (
	_ "embed" // the document is part of every binary that serves it
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed openapi.yaml
var document string

// The values of [Operation].Plane.
const (
	PlaneControl = "control" // developer portal
	PlaneData    = "data"    // model gateway
)

// Operation is one method of one path.
type Operation struct {
	Method   string   // upper case
	Path     string   // as in the document: /dev/apps/{app_id}
	ID       string   // operationId
	Plane    string   // PlaneControl or PlaneData
	Planned  bool     // not built yet: answers 501
	Added    bool     // an addition of ours to the specification
	Security []string // names of the schemes, any of which opens it; empty when it needs no credential
}

// YAML returns the document as it is written.
func YAML() []byte { return []byte(document) }

// JSON returns the document as JSON, with its keys in the order of the YAML and its aliases resolved. The block x-shared,
// which exists only for the aliases to point to, is left out.
func JSON() ([]byte, error) {
	root, err := parse()
	if err != nil {
		return nil, err
	}
	served := make(yaml.MapSlice, 0, len(root))
	for _, item := range root {
		if item.Key != "x-shared" {
			served = append(served, item)
		}
	}
	return appendJSON(nil, served)
}

// Operations returns the operations in the order of the document.
func Operations() ([]Operation, error) {
	root, err := parse()
	if err != nil {
		return nil, err
	}
	paths, _ := lookup(root, "paths").(yaml.MapSlice)
	var ops []Operation
	for _, path := range paths {
		methods, _ := path.Value.(yaml.MapSlice)
		for _, method := range methods {
			name, _ := method.Key.(string)
			if !isMethod(name) {
				continue
			}
			body, _ := method.Value.(yaml.MapSlice)
			op := operation(body)
			op.Method = strings.ToUpper(name)
			op.Path, _ = path.Key.(string)
			ops = append(ops, op)
		}
	}
	return ops, nil
}

func operation(body yaml.MapSlice) Operation {
	var op Operation
	op.ID, _ = lookup(body, "operationId").(string)
	op.Plane, _ = lookup(body, "x-plane").(string)
	op.Planned = lookup(body, "x-status") == "planned"
	op.Added = lookup(body, "x-added") == true
	alternatives, _ := lookup(body, "security").([]any)
	for _, alternative := range alternatives {
		schemes, _ := alternative.(yaml.MapSlice)
		for _, scheme := range schemes {
			if name, ok := scheme.Key.(string); ok {
				op.Security = append(op.Security, name)
			}
		}
	}
	return op
}

// isMethod tells the methods of a path from its other fields (parameters, servers).
func isMethod(name string) bool {
	switch name {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace":
		return true
	}
	return false
}

func parse() (yaml.MapSlice, error) {
	var root yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(document), &root, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("parse openapi.yaml: %w", err)
	}
	return root, nil
}

// lookup returns the value of a key, or nil.
func lookup(m yaml.MapSlice, key string) any {
	for _, item := range m {
		if item.Key == key {
			return item.Value
		}
	}
	return nil
}
