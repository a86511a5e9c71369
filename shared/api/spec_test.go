package api_test

import (
	"os"
	"strings"
	"testing"
)

// specRows returns the endpoint tables of the specification, transcribed: the credential by method and path.
func specRows(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/spec.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		row := strings.Fields(line)
		if len(row) == 0 || row[0] == "#" {
			continue
		}
		if len(row) != 3 {
			t.Fatalf("spec.txt: %q is not method, path and credential", line)
		}
		rows[row[0]+" "+row[1]] = row[2]
	}
	// Named outside the tables: the description of the interface, and the stream of a job.
	rows["GET /dev/openapi"] = "none"
	rows["GET /api/v1/firmware/jobs/{job_id}"] = "key"
	return rows
}

// builtRows returns the operations that are built. Everything else must be marked as planned.
func builtRows() []string {
	return []string{
		"GET /dev/",
		"GET /dev/docs-page",
		"GET /dev/openapi",
		"POST /dev/auth/register",
		"POST /dev/auth/login",
		"GET /dev/auth/me",
		"GET /dev/auth/google-client-id",
		"GET /dev/image-builds",
		"GET /dev/download/image/{target}",
		"GET /dev/catalog",
		"GET /dev/limits",
		"GET /api/developer/metrics",
		"POST /api/developer/metrics",
		"GET /api/developer/metrics/formatted",
		"POST /api/developer/track",
		"GET /api/developer/embed/metrics.js",
		"GET /api/developer/embed/badge.svg",
		"GET /api/developer/metrics/debug",
		"POST /api/developer/metrics/reset",
		"GET /api/developer/info",
		"GET /dev/apps",
		"POST /dev/apps",
		"GET /dev/apps/{app_id}",
		"PUT /dev/apps/{app_id}",
		"DELETE /dev/apps/{app_id}",
		"POST /dev/apps/{app_id}/keys",
		"DELETE /dev/apps/{app_id}/keys/{key_id}",
		"POST /dev/apps/{app_id}/keys/{key_id}/regenerate",
		"GET /dev/apps/{app_id}/usage",
		"GET /dev/playground/key-for-stream",
		"GET /dev/darwin-tokens",
		"POST /dev/darwin-tokens",
		"DELETE /dev/darwin-tokens/{key_id}",
		"GET /api/v1",
		"GET /api/v1/models",
		"POST /api/v1/agent",
		"POST /api/v1/generate",
		"POST /api/v1/stream",
		"GET /api/v1/health",
	}
}
