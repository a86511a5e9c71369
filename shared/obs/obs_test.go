package obs_test

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"modelgate.internal/shared/obs"
)

func TestHandler(t *testing.T) {
	var trouble error
	h := obs.Handler(obs.Registry("test"), func() error { return trouble })
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		return rec.Code, rec.Body.String()
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, `modelgate_build_info{binary="test"`) {
		t.Errorf("/metrics: %d %s", code, body)
	}
	if code, _ := get("/readyz"); code != 200 {
		t.Errorf("/readyz: %d", code)
	}
	trouble = errors.New("database is away")
	if code, body := get("/readyz"); code != 503 || body != "database is away\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("/healthz is about the process alone: %d", code)
	}
	if code, _ := get("/debug/pprof/cmdline"); code != 200 {
		t.Errorf("/debug/pprof/cmdline: %d", code)
	}
}

func TestLogger(t *testing.T) {
	var out strings.Builder
	log, err := obs.Logger(&out, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud", slog.Int("n", 1))
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"msg":"loud","n":1`) {
		t.Errorf("got %s", got)
	}
	for _, bad := range [][2]string{{"loud", "json"}, {"info", "xml"}} {
		if _, err := obs.Logger(&out, bad[0], bad[1]); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
