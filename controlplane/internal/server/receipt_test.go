package server_test

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestWhoWaitsSaysForWhom: an operation that waits for the nodes does so without being asked, and its answer has the receipt.
func TestWhoWaitsSaysForWhom(t *testing.T) {
	t.Parallel()
	var waits []string
	for id, op := range operations(t) {
		wait := op.Parameters.GetByInAndName("query", "wait")
		if wait == nil {
			continue
		}
		waits = append(waits, id)
		if wait.Schema.Value.Default != "nodes" {
			t.Errorf("%s waits only when it is asked to", id)
		}
		if !has(op.Responses.Status(200).Value.Content.Get("application/json").Schema, "receipt") {
			t.Errorf("%s does not say for whom it waited", id)
		}
	}
	for _, id := range []string{
		"createKey", "regenerateKey", "revokeKey", "createDarwinToken", "revokeDarwinToken", "streamKey", "updateApp", "deleteApp",
		"changePlan", "keepApps", "verifyCheckout", "playgroundMulticamCalibrate",
	} {
		if !slices.Contains(waits, id) {
			t.Errorf("%s does not wait for the nodes", id)
		}
	}
}

// has reports whether an object of the schema may have a property.
func has(schema *openapi3.SchemaRef, property string) bool {
	return schema.Value.Properties[property] != nil ||
		slices.ContainsFunc(schema.Value.AllOf, func(part *openapi3.SchemaRef) bool { return has(part, property) })
}
