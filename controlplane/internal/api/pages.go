package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"modelgate.internal/shared/apierr"
)

// pageStyle is the style sheet of the pages that are written here. The policy of those pages names its hash.
const pageStyle template.CSS = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem 1.5rem 4rem; }
code, pre { font: 0.9em/1.4 ui-monospace, monospace; }
pre { border: 1px solid; border-radius: 6px; overflow-x: auto; padding: 0.8rem 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid; padding: 0.25rem 0.8rem 0.25rem 0; text-align: left; vertical-align: top; }
`

// pagePolicy allows a page its own style sheet and links, nothing else.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func writePage(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy())
	w.Write(page) //nolint:errcheck // the client has gone
}

// builtPage fills the address of the gateway into a page of the portal's bundle.
func builtPage(files fs.FS, name, gatewayURL string) ([]byte, error) {
	page, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read a page of the portal: %w", err)
	}
	return bytes.ReplaceAll(page, []byte("__GATEWAY_URL__"), []byte(html.EscapeString(gatewayURL))), nil
}

func (a *API) portalPage(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Write(a.portal) //nolint:errcheck // the client has gone
	return nil
}

// PortalAsset serves the files below assets/, whose names change with their content.
func (a *API) PortalAsset(w http.ResponseWriter, r *http.Request) error {
	return a.portalFile(w, "assets/"+r.PathValue("file"), immutable)
}

// PortalRoot serves the files beside index.html.
func (a *API) PortalRoot(w http.ResponseWriter, r *http.Request) error {
	return a.portalFile(w, r.PathValue("page"), "no-cache")
}

// HasPortalRoot reports whether a demo's page or a file beside index.html can have the name.
func (a *API) HasPortalRoot(name string) bool {
	if strings.HasSuffix(name, ".html") {
		return true
	}
	info, err := fs.Stat(a.Portal, name)
	return err == nil && !info.IsDir() && !strings.HasPrefix(path.Base(name), ".")
}

func (a *API) portalFile(w http.ResponseWriter, name, cache string) error {
	notFound := apierr.New(apierr.NotFound, "There is nothing at this address.")
	if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return notFound
	}
	content, err := fs.ReadFile(a.Portal, name)
	if err != nil {
		return notFound.Because(err)
	}
	media := mime.TypeByExtension(path.Ext(name))
	if media == "" {
		media = "application/octet-stream"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", cache)
	w.Write(content) //nolint:errcheck // the client has gone
	return nil
}

// docsPage serves the guides of the portal's bundle, or the short page below in a build without them.
func (a *API) docsPage(w http.ResponseWriter, _ *http.Request) error {
	if page, err := builtPage(a.Portal, "docs.html", a.GatewayURL); err == nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		w.Write(page) //nolint:errcheck // the client has gone
		return nil
	}
	var page bytes.Buffer
	err := docsPage.Execute(&page, map[string]any{
		"Style": pageStyle, "Base": a.PublicURL, "Gateway": a.GatewayURL, "Darwin": a.DarwinURL,
	})
	if err != nil {
		return fmt.Errorf("write the documentation: %w", err)
	}
	w.Header().Set("Cache-Control", "no-cache")
	writePage(w, page.Bytes())
	return nil
}

var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Modelgate: documentation</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>Modelgate</h1>
<p>A model gateway: one endpoint, <code>POST /api/v1/agent</code>, takes a prompt and a model name; tokens stream back as they come.
Keys for it are made here. <a href="/dev/openapi">All operations</a>, <a href="/dev/">portal</a>.</p>

<h2>Quick start</h2>
<p>The examples use <a href="https://jqlang.org">jq</a> to read the answers.</p>
<p>1. Create an account. The answer holds an access token, valid for 12 hours.</p>
<pre>TOKEN=$(curl -s {{.Base}}/dev/auth/register -H 'Content-Type: application/json' \
  -d '{"name":"Ada Lovelace","email":"ada@example.com","password":"correct horse battery"}' | jq -r .access_token)</pre>
<p>Later, <code>POST /dev/auth/login</code> with e-mail and password gives a new one.</p>
<p>2. Create an app, and a key for it. A <code>test</code> app makes <code>svc_test_</code> keys, which do not count against the day quota.</p>
<pre>APP=$(curl -s {{.Base}}/dev/apps -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"name":"First app","environment":"test","families":["darwin"]}' | jq -r .app_id)
KEY=$(curl -s -X POST {{.Base}}/dev/apps/$APP/keys -H "Authorization: Bearer $TOKEN" | jq -r .key)</pre>
<p>3. Call the gateway. Nodes know a new key within a moment.</p>
<pre>curl -N {{.Gateway}}/api/v1/agent -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
  -d '{"prompt":"Say hello.","model":"Darwin","stream":true}'</pre>
<p>4. See what it counted.</p>
<pre>curl -s "{{.Base}}/dev/apps/$APP/usage?days=7" -H "Authorization: Bearer $TOKEN" | jq .totals</pre>

<h2>Clients of OpenAI's API</h2>
<p>Point one at <code>{{.Gateway}}/v1</code> with a key made here, and name a model of <code>GET /v1/models</code>. Streams, tools and the
count of tokens pass through, and errors have OpenAI's form.</p>
<pre>import OpenAI from "openai";
const client = new OpenAI({ baseURL: "{{.Gateway}}/v1", apiKey: process.env.KEY });
const answer = await client.chat.completions.create({
  model: "Darwin", messages: [{ role: "user", content: "Say hello." }],
});</pre>

<h2>Dry runs</h2>
<p>With the header <code>X-Dry-Run: 1</code> a call is judged and not made: the answer says how the key's limits stand, which servers would be
asked, and with which status the call would be answered.</p>
<pre>curl -s {{.Gateway}}/api/v1/agent -H "Authorization: Bearer $KEY" -H 'X-Dry-Run: 1' -d '{"prompt":"x"}' | jq .would</pre>

<h2>Streams</h2>
<p>Every event is one line <code>data: {"type":"delta","text":"..."}</code>; the stream ends with <code>data: [DONE]</code>. A stream that
fails after it began sends <code>data: {"type":"error",...}</code> before the end. Lines that begin with a colon keep the connection alive.</p>

<h2>Keys and tokens</h2>
<ul>
<li><code>svc_live_</code> and <code>svc_test_</code> keys belong to an app, whose families, tasks and rate limit hold for them. They open <code>{{.Gateway}}</code>.</li>
<li><code>svc_darwin_</code> tokens (<code>POST /dev/darwin-tokens</code>) open <code>POST /api/v1/agent</code> at <code>{{.Darwin}}</code>.</li>
<li><code>GET /dev/config/stream-key</code> makes a token for five minutes that stands for your oldest key, or for the one named with <code>?key_id=</code>: with its scope, limits and usage, and no
longer than it lives. It is sent like a key.</li>
<li>A key keeps its environment when the app changes its own; make new keys for the new environment.</li>
<li>Regenerating gives a key a new value and ends the old one; revoking is final. Both reach the nodes within a moment.</li>
</ul>

<h2>Errors</h2>
<p>Errors are <code>{"detail": "..."}</code>. A 422 lists every violation: <code>{"detail":[{"type","loc","msg","input","ctx"}]}</code>. A 429 says in
<code>Retry-After</code> how many seconds to wait. The header <code>X-Request-Id</code> of any answer finds the request in the logs.</p>
</main>
</body>
</html>
`))
