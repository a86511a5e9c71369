// Package wire holds the request and response bodies of the contract (shared/api/openapi.yaml) as structs, written by
// hand and held against the document by a test.
//
// Request structs carry a `bind` tag next to the `json` tag; shared/bind reads it. The grammar is a comma-separated list
// of
//
//	required        the property must be present and not null
//	min=N max=N     length of a string in characters or of an array in items; value of a number
//	enum=a|b|c      allowed values, of a string or of the items of an array of strings
//	types=a|b       JSON types of a value that may have one of several (null, boolean, number, string, array, object)
//	default=V       value when absent (strings, numbers, booleans)
//	secret          never echoed as the input of a violation
//
// A pointer field is optional and nullable: nil stands for absent and for null. The structs are plain data, safe to share
// once filled.
package wire
