package demo_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"modelgate.internal/controlplane/internal/demo"
)

const page = "<!doctype html><title>Demo</title>"

func manifest(entries string) fstest.MapFS {
	return fstest.MapFS{"demos/manifest.json": {Data: []byte(entries)}, "demos/a.html": {Data: []byte(page)}}
}

func TestABuildWithoutDemosHasNone(t *testing.T) {
	d, err := demo.Load(fstest.MapFS{"index.html": {}}, "")
	if err != nil || len(d.List()) != 0 {
		t.Fatalf("%v %v", d, err)
	}
	if _, err := d.SDK("modelgate.js"); err == nil {
		t.Error("there is an SDK")
	}
}

func TestAManifestThatContradictsItselfIsRefused(t *testing.T) {
	for name, entries := range map[string]string{
		"there is no plan":   `[{"id":"a","file":"a.html","plan":"gold"}]`,
		"small letters":      `[{"id":"../a","file":"a.html","plan":"free"}]`,
		"small letters,":     `[{"id":"a","file":"../index.html","plan":"free"}]`,
		"twice":              `[{"id":"a","file":"a.html","plan":"free"},{"id":"a","file":"a.html","plan":"free"}]`,
		"exist":              `[{"id":"b","file":"b.html","plan":"free"}]`,
		"demos/manifest.jso": `nonsense`,
	} {
		if _, err := demo.Load(manifest(entries), ""); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", entries, err)
		}
	}
}

func TestAPlanOpensWhatItAndSmallerOnesOpen(t *testing.T) {
	d, err := demo.Load(manifest(`[{"id":"a","file":"a.html","title":"A","plan":"starter"}]`), "")
	if err != nil {
		t.Fatal(err)
	}
	for plan, opens := range map[string]bool{"free": false, "": false, "unheard of": false, "starter": true, "pro": true, "enterprise": true} {
		if _, err := d.Page("a", plan); (err == nil) != opens {
			t.Errorf("plan %q: %v", plan, err)
		}
	}
	if _, err := d.PublicPage("a"); err == nil {
		t.Error("a page that needs a plan is public")
	}
}

func TestNamesWithAVersionAreFixed(t *testing.T) {
	d, err := demo.Load(fstest.MapFS{
		"sdk/0.2.0/index.js": {}, "sdk/js/v1.0.0-rc.1/a.mjs": {}, "sdk/chunk-3f9ac01d.js": {}, "sdk/index.js": {}, "sdk/js/index.d.ts": {}, "sdk/x-large.bin": {},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		fixed bool
		media string
	}{
		"0.2.0/index.js": {true, "text/javascript; charset=utf-8"}, "js/v1.0.0-rc.1/a.mjs": {true, "text/javascript; charset=utf-8"},
		"chunk-3f9ac01d.js": {true, "text/javascript; charset=utf-8"}, "index.js": {false, "text/javascript; charset=utf-8"},
		"js/index.d.ts": {false, "application/typescript; charset=utf-8"}, "x-large.bin": {false, "application/octet-stream"},
	} {
		if f, err := d.SDK(name); err != nil || f.Fixed != want.fixed || f.Type != want.media {
			t.Errorf("%s: fixed %v, %s, %v", name, f.Fixed, f.Type, err)
		}
	}
}
