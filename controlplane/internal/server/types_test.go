package server_test

import (
	"net/http"
	"strings"
	"testing"

	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/api/apitest"
)

// TestValuesOfOtherTypesAreRefused puts values of every wrong JSON type into the documented bodies. The payment processor's are read after
// their signature, which these lack.
func TestValuesOfOtherTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.people(t)
	for _, wrong := range apitest.WrongTypes(t, contract.PlaneControl) {
		op := wrong.Operation
		if op.ID == "billingWebhook" {
			continue
		}
		address := strings.NewReplacer("{app_id}", n["app"], "{key_id}", n["key"], "{session_id}", n["session_id"]).Replace(op.Path)
		w := s.do(t, op.Method, address, n["session"], wrong.Body)
		documented(t, op.ID, w)
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s = %s: %d %.200s", op.ID, wrong.At, wrong.Value, w.Code, w.Body)
		}
	}
}
