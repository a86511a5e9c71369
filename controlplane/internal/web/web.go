package web

import (
	"embed"
	"fmt"
	"io/fs"
)

// The pattern fits dist.placeholder, which is always there, and dist, which is there once the portal has been built.
//
//go:embed all:dist*
var embedded embed.FS

// Portal returns the files of the portal, index.html among them, and whether they are the real bundle.
func Portal() (files fs.FS, built bool) {
	dir := "dist"
	if _, err := fs.Stat(embedded, "dist/index.html"); err != nil {
		dir = "dist.placeholder"
	}
	files, err := fs.Sub(embedded, dir)
	if err != nil {
		panic(fmt.Sprintf("BUG: web: embedded directory %s: %v", dir, err))
	}
	return files, dir == "dist"
}
