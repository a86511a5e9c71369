package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/conf"
)

func TestOfferIsReadAndChecked(t *testing.T) {
	dir := t.TempDir()
	image, file := filepath.Join(dir, "a.img"), filepath.Join(dir, "controlplane.yaml")
	if err := os.WriteFile(image, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `metrics_admin: true
models:
  - {id: Darwin, family: darwin, tasks: [conversation]}
  - {id: Tom, family: cats}
images:
  - target: rpi4
    version: 0.2.0
    name: Raspberry Pi 4
    location: ` + image + `
    size_bytes: 4
    sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
    released_at: 2026-01-05T09:30:00Z
  - {target: jetson, version: 1, location: "http://images.example/a.img"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg Config
	if _, err := conf.Load(&cfg, conf.Options{Name: "test", Args: []string{"-config", file}, Lookup: func(string) (string, bool) { return "", false }}); err != nil {
		t.Fatal(err)
	}
	if at := time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC); !cfg.MetricsAdmin || !cfg.Images[0].ReleasedAt.Equal(at) {
		t.Errorf("%+v", cfg.Images)
	}
	out, _, err := runCommand(t.Context(), "-config", file, "check")
	for _, want := range []string{"Tom has the family", "size_bytes says 4", "only https is taken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check does not say %q: %v", want, err)
		}
	}
	if !strings.Contains(out, "images                 2") || !strings.Contains(out, "metrics_admin          true") {
		t.Errorf("check prints\n%s", out)
	}
	if _, _, err := runCommand(t.Context(), "-config", file, "serve"); err == nil || !strings.Contains(err.Error(), "Tom has the family") {
		t.Errorf("serves with a family that does not exist: %v", err)
	}
}
