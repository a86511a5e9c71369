package api

import "testing"

func TestPrefer(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
	for accept, want := range map[string]string{
		"":                                   "application/json",
		"*/*":                                "application/json",
		"application/json":                   "application/json",
		"application/yaml":                   "application/yaml",
		"text/yaml":                          "text/yaml",
		"text/*":                             "text/yaml",
		browser:                              "text/html",
		"application/yaml;q=0.5, */*;q=0.1":  "application/yaml",
		"application/yaml;q=0, */*":          "application/json",
		"image/png":                          "application/json",
		"text/html;q=0.4, application/json":  "application/json",
		"nonsense;;q=, application/yaml":     "application/yaml",
		"application/yaml;q=many, text/html": "text/html",
	} {
		if got := prefer(accept, "application/json", "application/yaml", "text/yaml", "text/html"); got != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
}
