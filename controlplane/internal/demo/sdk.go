package demo

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"modelgate.internal/shared/apierr"
)

// File is a file of the SDK.
type File struct {
	Content []byte
	Type    string // of its content, from the ending of its name
	ETag    string // quoted, changes with the content
	// Fixed says that the content under this name never changes: the name has a version or a hash of the content in it.
	Fixed bool
}

// fixedName finds a directory like 0.2.0 or a name like chunk-3f9ac01d.js. Other names get new content with a new build.
var fixedName = regexp.MustCompile(`(^|/)v?\d+\.\d+\.\d+(-[0-9a-z.]+)?/|-[0-9a-f]{8,}\.[a-z.]+$`)

// types are the content types by ending; the operating system's table differs from machine to machine and takes .ts for video.
func types() map[string]string {
	return map[string]string{
		".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".ts": "application/typescript; charset=utf-8",
		".map": "application/json", ".json": "application/json", ".css": "text/css; charset=utf-8", ".wasm": "application/wasm",
		".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
	}
}

func loadSDK(files fs.FS) (map[string]File, error) {
	sdk, known := map[string]File{}, types()
	if _, err := fs.Stat(files, sdkDir); err != nil {
		return sdk, nil //nolint:nilerr // a portal without the SDK
	}
	err := fs.WalkDir(files, sdkDir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		if len(sdk) == SDKFilesMax {
			return fmt.Errorf("more than %d files", SDKFilesMax)
		}
		content, err := readFile(files, name)
		if err != nil {
			return err
		}
		media := known[path.Ext(name)]
		if media == "" {
			media = "application/octet-stream"
		}
		sum := sha256.Sum256(content)
		inside := strings.TrimPrefix(name, sdkDir+"/")
		sdk[inside] = File{
			Content: content, Type: media, ETag: `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, Fixed: fixedName.MatchString(inside),
		}
		return nil
	})
	return sdk, err
}

// SDK returns a file by its path inside the SDK. The paths are the keys of a table made at the start, so no path leads anywhere
// else. Errors: 404.
func (d *Demos) SDK(name string) (File, error) {
	file, ok := d.sdk[name]
	if !ok {
		return File{}, apierr.New(apierr.NotFound, "The SDK has no such file.")
	}
	return file, nil
}
