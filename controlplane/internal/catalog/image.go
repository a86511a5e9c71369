package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Image is an image for hardware as the operator configured it.
type Image struct {
	Target     string    `yaml:"target"`
	Version    string    `yaml:"version"`
	Name       string    `yaml:"name"`        // for people; empty means the target
	Location   string    `yaml:"location"`    // an https address or the absolute path of a file; empty means not available
	SizeBytes  int64     `yaml:"size_bytes"`  // 0 means not known; a file's own size counts
	SHA256     string    `yaml:"sha256"`      // 64 lower-case hexadecimal digits; empty means not known
	ReleasedAt time.Time `yaml:"released_at"` // zero means not known, and older than any that is
}

// Remote reports whether the image is at another address.
func (i Image) Remote() bool { return strings.HasPrefix(i.Location, remotePrefix) }

const remotePrefix = "https://"

// FileName is the last part of the location without its query.
func (i Image) FileName() string {
	if !i.Remote() {
		return filepath.Base(i.Location)
	}
	u, err := url.Parse(i.Location)
	if err != nil {
		return ""
	}
	return path.Base(u.Path)
}

// Format is the ending of the file's name, with what it is packed in: "img.xz"; "bin" when there is none.
func (i Image) Format() string {
	name := i.FileName()
	ending := path.Ext(name)
	switch ending {
	case ".xz", ".gz", ".zst", ".bz2":
		ending = path.Ext(strings.TrimSuffix(name, ending)) + ending
	}
	return cmp.Or(strings.ToLower(strings.TrimPrefix(ending, ".")), "bin")
}

// Open opens the file of an image that is one. The error says in what way it cannot be read.
func (i Image) Open() (*os.File, os.FileInfo, error) {
	info, err := os.Stat(i.Location) // before it is opened: opening a pipe would wait for its writer
	if err != nil {
		return nil, nil, fmt.Errorf("find the image: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", i.Location)
	}
	file, err := os.Open(i.Location)
	if err != nil {
		return nil, nil, fmt.Errorf("open the image: %w", err)
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("read the image: %w", err)
	}
	return file, info, nil
}

// wellFormed returns everything that is wrong with what is written of an image.
func (i Image) wellFormed() error {
	var errs []error
	report := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("images: %s %s: "+format, append([]any{i.Target, i.Version}, args...)...))
	}
	name := regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]*$`)
	for field, text := range map[string]string{"target": i.Target, "version": i.Version} {
		if len(text) > NameBytesMax || !name.MatchString(text) {
			report("%s %q is not 1 to %d letters, digits, dots, dashes, underscores and plus signs, a letter or digit first", field, text, NameBytesMax)
		}
	}
	if i.SHA256 != "" && !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(i.SHA256) {
		report("sha256 is not 64 lower-case hexadecimal digits")
	}
	if i.SizeBytes < 0 {
		report("size_bytes is negative")
	}
	if err := i.checkLocation(); err != nil {
		report("location: %w", err)
	}
	return errors.Join(errs...)
}

func (i Image) checkLocation() error {
	switch {
	case i.Location == "":
		return nil
	case len(i.Location) > LocationBytesMax:
		return fmt.Errorf("longer than %d bytes", LocationBytesMax)
	case i.Remote():
		u, err := url.Parse(i.Location)
		if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(i.Location, "\r\n") {
			return errors.New("not of the form https://host/path, without a user")
		}
		return nil
	case strings.Contains(i.Location, "://"):
		return errors.New("of addresses only https is taken")
	case !filepath.IsAbs(i.Location):
		return errors.New("the path of a file is written absolutely")
	}
	return nil
}

// matches compares a file with what is written of it. It reads the whole file if there is a digest.
func (i Image) matches() error {
	if i.Location == "" || i.Remote() {
		return nil
	}
	file, info, err := i.Open()
	if err != nil {
		return fmt.Errorf("images: %s %s: %w", i.Target, i.Version, err)
	}
	defer file.Close()
	if i.SizeBytes > 0 && info.Size() != i.SizeBytes {
		return fmt.Errorf("images: %s %s: the file has %d bytes, size_bytes says %d", i.Target, i.Version, info.Size(), i.SizeBytes)
	}
	if i.SHA256 == "" {
		return nil
	}
	sum, err := digest(file)
	if err != nil {
		return fmt.Errorf("images: %s %s: read the file: %w", i.Target, i.Version, err)
	}
	if sum != i.SHA256 {
		return fmt.Errorf("images: %s %s: the file's digest is %s, sha256 says %s", i.Target, i.Version, sum, i.SHA256)
	}
	return nil
}
