package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"

	contract "modelgate.internal/shared/api"
)

// document is the contract in the forms it is served in.
type document struct {
	title, version   string
	operations       []contract.Operation
	json, yaml, html []byte
}

func newDocument() (document, error) {
	d := document{yaml: contract.YAML()}
	var err error
	if d.operations, err = contract.Operations(); err != nil {
		return document{}, fmt.Errorf("read the contract: %w", err)
	}
	if d.json, err = contract.JSON(); err != nil {
		return document{}, fmt.Errorf("read the contract: %w", err)
	}
	if d.title, d.version, err = titleOf(d.json); err != nil {
		return document{}, err
	}
	var page bytes.Buffer
	err = operationsPage.Execute(&page, map[string]any{
		"Style":   pageStyle,
		"Control": onPlane(d.operations, contract.PlaneControl), "Data": onPlane(d.operations, contract.PlaneData),
	})
	if err != nil {
		return document{}, fmt.Errorf("write the page of operations: %w", err)
	}
	d.html = page.Bytes()
	return d, nil
}

// titleOf returns what the document calls the interface, and its version.
func titleOf(text []byte) (title, version string, err error) {
	var d struct {
		Info struct{ Title, Version string }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return "", "", fmt.Errorf("read the contract: %w", err)
	}
	return d.Info.Title, d.Info.Version, nil
}

func onPlane(ops []contract.Operation, plane string) []contract.Operation {
	var found []contract.Operation
	for _, op := range ops {
		if op.Plane == plane {
			found = append(found, op)
		}
	}
	return found
}

// openapi serves the form that Accept asks for: JSON unless something else is preferred.
func (a *API) openapi(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "no-cache")
	switch prefer(r.Header.Get("Accept"), "application/json", "application/yaml", "text/yaml", "text/html") {
	case "application/yaml", "text/yaml":
		w.Header().Set("Content-Type", "application/yaml")
		w.Write(a.document.yaml) //nolint:errcheck // the client has gone
	case "text/html":
		a.explorer(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(a.document.json) //nolint:errcheck // the client has gone
	}
	return nil
}

// explorer serves the page that tries operations, or the plain list of them in a build without the portal.
func (a *API) explorer(w http.ResponseWriter) {
	page, err := builtPage(a.Portal, "explorer.html", a.GatewayURL)
	if err != nil {
		writePage(w, a.document.html)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(page) //nolint:errcheck // the client has gone
}

var operationsPage = template.Must(template.New("operations").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Modelgate: operations</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>Operations</h1>
<p>Generated from the OpenAPI document, which this address serves as JSON by default and as YAML with
<code>Accept: application/yaml</code>. This build has no interactive explorer. <a href="/dev/docs-page">Documentation</a>,
<a href="/dev/">portal</a>.</p>
<p>Operations marked <em>planned</em> are in the contract and answer 501 until they are built.</p>
{{define "table"}}<table>
<thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Operation</th><th scope="col">Credential</th><th scope="col">State</th></tr></thead>
<tbody>{{range .}}
<tr><td>{{.Method}}</td><td><code>{{.Path}}</code></td><td>{{.ID}}</td><td>{{range $i, $s := .Security}}{{if $i}} or {{end}}{{$s}}{{else}}none{{end}}</td><td>{{if .Planned}}<em>planned</em>{{else}}built{{end}}</td></tr>{{end}}
</tbody></table>{{end}}
<h2>Developer portal</h2>
{{template "table" .Control}}
<h2>Model gateway</h2>
{{template "table" .Data}}
</main>
</body>
</html>
`))
