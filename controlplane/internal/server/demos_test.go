package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"modelgate.internal/controlplane/internal/demo"
)

// demos are those of the transcripts: one for everybody, one for a larger plan, and an SDK.
func demos(t *testing.T) *demo.Demos {
	t.Helper()
	d, err := demo.Load(fstest.MapFS{
		"demos/manifest.json": {Data: []byte(`[
			{"id":"kanban","file":"kanban.html","title":"Kanban board","description":"Turns a description into a board.","plan":"free","requires":["darwin"]},
			{"id":"enroll","file":"enroll.html","title":"Live enrollment","description":"Learns a face from a webcam.","plan":"pro","requires":["biometrix"]}]`)},
		"demos/kanban.html":        {Data: []byte(`<!doctype html><title>Kanban</title><meta name="gateway" content="__GATEWAY_URL__">`)},
		"demos/enroll.html":        {Data: []byte(`<!doctype html><title>Enrollment</title>`)},
		"demos/unlisted.html":      {Data: []byte(`<!doctype html><title>Not in the manifest</title>`)},
		"sdk/modelgate.js":         {Data: []byte("export const version = \"0.2.0\";\n")},
		"sdk/modelgate.d.ts":       {Data: []byte("export declare const version: string;\n")},
		"sdk/0.2.0/modelgate.js":   {Data: []byte("export const version = \"0.2.0\";\n")},
		"sdk/.hidden":              {Data: []byte("secret")},
		"secret-beside-the-sdk.js": {Data: []byte("secret")},
	}, "http://gateway.example")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestADemoMayBeFramedByThePortalOnly: its policy is the portal's but for that.
func TestADemoMayBeFramedByThePortalOnly(t *testing.T) {
	s := newStack(t)
	policy := func(path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Header().Get("Content-Security-Policy")
	}
	portal, demo := policy("/dev/"), policy("/dev/kanban.html")
	if !strings.Contains(portal, "frame-ancestors 'none'") || demo != strings.Replace(portal, "frame-ancestors 'none'", "frame-ancestors 'self'", 1) {
		t.Errorf("the portal's policy is %s, the demo's %s", portal, demo)
	}
}
