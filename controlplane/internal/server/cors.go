package server

import (
	"net/http"
	"strconv"
	"strings"

	"modelgate.internal/controlplane/internal/api"
	"modelgate.internal/shared/cors"
)

// openToPages lets pages of other origins read an answer, whatever it is, where anybody may ask. It answers their browsers' questions
// itself and reports whether this was one.
func openToPages(w http.ResponseWriter, r *http.Request) (answered bool) {
	if !strings.HasPrefix(r.URL.Path, api.OpenPath) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Allow")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Vary", cors.Vary)
	h.Set("Access-Control-Allow-Methods", cors.Methods)
	h.Set("Access-Control-Allow-Headers", string(cors.Allowed([]byte(r.Header.Get("Access-Control-Request-Headers")))))
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(cors.Age.Seconds())))
	w.WriteHeader(http.StatusNoContent)
	return true
}
