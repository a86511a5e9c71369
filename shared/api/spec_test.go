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
	// Additions to the specification: what OpenAI's clients call.
	rows["POST /api/v1/chat/completions"] = "key"
	rows["POST /v1/chat/completions"] = "key"
	rows["GET /v1/models"] = "key"
	rows["GET /v1/models/{model}"] = "key"
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
		"POST /dev/auth/google",
		"GET /dev/auth/google-client-id",
		"POST /dev/auth/refresh",
		"POST /dev/auth/logout",
		"GET /dev/auth/sessions",
		"DELETE /dev/auth/sessions",
		"DELETE /dev/auth/sessions/{session_id}",
		"POST /dev/auth/change-password",
		"POST /dev/auth/login/totp",
		"GET /dev/auth/totp",
		"POST /dev/auth/totp",
		"POST /dev/auth/totp/confirm",
		"POST /dev/auth/totp/disable",
		"POST /dev/auth/verify-email",
		"POST /dev/auth/verify-email/send",
		"POST /dev/auth/forgot-password",
		"POST /dev/auth/reset-password",
		"GET /dev/account",
		"DELETE /dev/account",
		"POST /dev/account/restore",
		"GET /dev/account/export",
		"GET /dev/image-builds",
		"GET /dev/demos",
		"GET /dev/demos/{demo_id}",
		"GET /dev/{demo_file}.html",
		"GET /dev/sdk/{file_path}",
		"GET /dev/download/image/{target}",
		"GET /dev/catalog",
		"GET /dev/limits",
		"GET /dev/usage",
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
		"GET /dev/apps/{app_id}/requests",
		"POST /dev/playground",
		"POST /dev/playground/stream",
		"POST /dev/playground/deep-search",
		"POST /dev/playground/voice",
		"POST /dev/playground/biometrix",
		"POST /dev/playground/depth-estimate",
		"POST /dev/playground/spatial-query",
		"POST /dev/playground/multicam-calibrate",
		"POST /dev/playground/multicam-identify",
		"GET /dev/playground/key-for-stream",
		"GET /dev/config/stream-key",
		"GET /dev/billing/config",
		"POST /dev/billing/checkout",
		"POST /dev/billing/webhook",
		"POST /dev/billing/portal",
		"GET /dev/billing/verify-session",
		"GET /dev/billing/subscription",
		"POST /dev/billing/subscription",
		"GET /dev/billing/preview",
		"GET /dev/billing/invoices",
		"PUT /dev/billing/apps",
		"GET /dev/billing/alerts",
		"PUT /dev/billing/alerts",
		"POST /dev/billing/alerts/secret",
		"POST /dev/billing/alerts/test",
		"GET /dev/darwin-tokens",
		"POST /dev/darwin-tokens",
		"DELETE /dev/darwin-tokens/{key_id}",
		"GET /dev/audit",
		"GET /dev/audit/verify",
		"GET /dev/org",
		"PUT /dev/org",
		"POST /dev/org",
		"GET /dev/org/email-config",
		"POST /dev/org/test-email",
		"GET /dev/org/search-developer",
		"POST /dev/org/add-member",
		"POST /dev/org/invite",
		"DELETE /dev/org/invite/{invite_id}",
		"POST /dev/org/invite/{invite_id}/resend",
		"DELETE /dev/org/member/{dev_id}",
		"PUT /dev/org/member/{dev_id}/role",
		"GET /dev/org/invite-info/{invite_id}",
		"POST /dev/org/accept-invite",
		"GET /api/v1",
		"GET /api/v1/models",
		"POST /api/v1/agent",
		"POST /api/v1/generate",
		"POST /api/v1/stream",
		"POST /api/v1/predict",
		"GET /api/v1/skills",
		"POST /api/v1/skills/{skill_name}/invoke",
		"POST /api/v1/depth-estimate",
		"POST /api/v1/spatial-query",
		"POST /api/v1/multicam-identify",
		"POST /api/v1/tracking/analyze",
		"POST /api/v1/detect",
		"POST /api/v1/extract",
		"POST /api/v1/compare",
		"POST /api/v1/identify",
		"POST /api/v1/enroll",
		"DELETE /api/v1/enroll",
		"POST /api/v1/delete_enrollment",
		"POST /api/v1/match",
		"GET /api/v1/stt-status",
		"POST /api/v1/transcribe",
		"POST /api/v1/synthesize",
		"POST /api/v1/voice/characteristics",
		"POST /api/v1/voice/analyze",
		"POST /api/v1/voice-id",
		"GET /api/v1/health",
		"POST /api/v1/chat/completions",
		"POST /v1/chat/completions",
		"GET /v1/models",
		"GET /v1/models/{model}",
		"POST /api/v1/deep-search",
		"POST /api/v1/translate",
		"GET /api/v1/translate/languages",
		"POST /api/translate",
		"GET /api/translate/languages",
	}
}
