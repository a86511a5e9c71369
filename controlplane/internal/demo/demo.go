package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"path"
	"regexp"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// Where the portal's build puts things.
const (
	manifestFile = "demos/manifest.json"
	pagesDir     = "demos"
	sdkDir       = "sdk"
)

// placeholder stands for the gateway's address in a page.
const placeholder = "__GATEWAY_URL__"

// Demo is a page that shows something, as the manifest describes it.
type Demo struct {
	ID          string   `json:"id"`
	File        string   `json:"file"` // name of the page in demos/, without a directory
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Plan        string   `json:"plan"`     // smallest plan that opens it
	Requires    []string `json:"requires"` // families that the key needs in its scope
}

// Open reports whether a plan opens the demo.
func (d *Demo) Open(planID string) bool { return plan.Covers(planID, d.Plan) }

// Demos are the demos and the SDK.
type Demos struct {
	list  []Demo // in the order of the manifest
	pages map[string][]byte
	sdk   map[string]File
}

var (
	idPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	filePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}\.html$`)
)

// Load reads what the portal's build made and fills the gateway's address into the pages.
func Load(files fs.FS, gatewayURL string) (*Demos, error) {
	d := &Demos{pages: map[string][]byte{}}
	var err error
	if d.sdk, err = loadSDK(files); err != nil {
		return nil, fmt.Errorf("load the SDK: %w", err)
	}
	text, err := fs.ReadFile(files, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the demos: %w", err)
	}
	if err := json.Unmarshal(text, &d.list); err != nil {
		return nil, fmt.Errorf("load the demos: %s: %w", manifestFile, err)
	}
	if len(d.list) > DemosMax {
		return nil, fmt.Errorf("load the demos: %d of them, more than %d", len(d.list), DemosMax)
	}
	for i := range d.list {
		one := &d.list[i]
		if err := d.add(files, one, gatewayURL); err != nil {
			return nil, fmt.Errorf("load the demos: %q: %w", one.ID, err)
		}
	}
	return d, nil
}

func (d *Demos) add(files fs.FS, one *Demo, gatewayURL string) error {
	if _, known := plan.ByID(one.Plan); !known {
		return fmt.Errorf("there is no plan %q", one.Plan)
	}
	if !idPattern.MatchString(one.ID) || !filePattern.MatchString(one.File) {
		return fmt.Errorf("the ID or the file %q is not of small letters, digits and dashes", one.File)
	}
	if _, twice := d.pages[one.ID]; twice {
		return errors.New("it is there twice")
	}
	page, err := readFile(files, path.Join(pagesDir, one.File))
	if err != nil {
		return err
	}
	d.pages[one.ID] = bytes.ReplaceAll(page, []byte(placeholder), []byte(html.EscapeString(gatewayURL)))
	return nil
}

func readFile(files fs.FS, name string) ([]byte, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	if len(content) > FileBytesMax {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, len(content), FileBytesMax)
	}
	return content, nil
}

// List returns the demos in the order of the manifest.
func (d *Demos) List() []Demo { return d.list }

// Page returns the page of a demo for a caller of a plan. Errors: 404 for an unknown demo, 403 if the plan does not open it.
func (d *Demos) Page(id, planID string) ([]byte, error) {
	for i := range d.list {
		one := &d.list[i]
		switch {
		case one.ID != id:
			continue
		case !one.Open(planID):
			wanted, _ := plan.ByID(one.Plan)
			return nil, apierr.New(apierr.Forbidden, fmt.Sprintf("The demo %q needs the %s plan or a larger one. Change your plan to open it.", one.Title, wanted.Name))
		}
		return d.pages[id], nil
	}
	return nil, apierr.New(apierr.NotFound, "There is no such demo. GET /dev/demos lists them.")
}

// PublicPage returns the page of a file name without .html. Only pages that the smallest plan opens are public; for the others
// Page asks who is there. Errors: 404.
func (d *Demos) PublicPage(name string) ([]byte, error) {
	for i := range d.list {
		one := &d.list[i]
		switch {
		case one.File != name+".html":
			continue
		case one.Plan != plan.Free:
			return nil, apierr.New(apierr.NotFound, "This demo is not public. Sign in and open it at /dev/demos/"+one.ID+".")
		}
		return d.pages[one.ID], nil
	}
	return nil, apierr.New(apierr.NotFound, "There is no such page. GET /dev/demos lists the demos.")
}
