package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPagesOfOtherOriginsMayAskWhatAnybodyMay: they can send what they like to the public counters and read every answer, those to what is
// not there or not possible included; nothing else of the portal is for them.
func TestPagesOfOtherOriginsMayAskWhatAnybodyMay(t *testing.T) {
	s := newStack(t)
	ask := func(method, path, method2 string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"event":"page_view"}`))
		r.Header.Set("Origin", "https://shop.example")
		if method2 != "" {
			r.Header.Set("Access-Control-Request-Method", method2)
			r.Header.Set("Access-Control-Request-Headers", "content-type,traceparent")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/api/developer/track", 200},
		{"POST", "/api/developer/metrics", 200},
		{"GET", "/api/developer/nothing", 404},
		{"DELETE", "/api/developer/metrics", 405},
	} {
		w := ask("OPTIONS", tt.path, tt.method)
		h := w.Header()
		if w.Code != 204 || h.Get("Access-Control-Allow-Headers") != "content-type,traceparent" || h.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(h.Get("Access-Control-Allow-Methods"), tt.method) || !strings.Contains(h.Get("Vary"), "Access-Control-Request-Headers") {
			t.Errorf("%s %s: the preflight is answered with %d %v", tt.method, tt.path, w.Code, h)
		}
		w = ask(tt.method, tt.path, "")
		h = w.Header()
		if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Retry-After") ||
			h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, w.Code, h)
		}
	}
	for _, path := range []string{"/dev/apps", "/dev/playground", "/api/developer"} {
		if w := ask("OPTIONS", path, "POST"); w.Code < 400 || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: open to pages: %d %v", path, w.Code, w.Header())
		}
	}
}
