package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestARefusalNamesWhatWasCounted: what is bounded for each developer is not said to be so for a network.
func TestARefusalNamesWhatWasCounted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.people(t)
	for path, want := range map[string]string{
		"/dev/account/export":    "More than 2 exports per minute by one developer. The next one is possible in 30 s.",
		"/dev/config/stream-key": "More than 30 stream tokens per minute by one developer. The next one is possible in 2 s.",
	} {
		w := s.do(t, "GET", path, n["session"], nil)
		for range 20 {
			if w.Code == http.StatusTooManyRequests {
				break
			}
			w = s.do(t, "GET", path, n["session"], nil)
		}
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
