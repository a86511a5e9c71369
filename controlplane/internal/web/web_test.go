package web_test

import (
	"io/fs"
	"strings"
	"testing"

	"modelgate.internal/controlplane/internal/web"
)

func TestPortalHasAPage(t *testing.T) {
	files, built := web.Portal()
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if says := strings.Contains(string(page), "no portal bundle"); says == built {
		t.Errorf("built: %v, the page says that it is not: %v", built, says)
	}
}
