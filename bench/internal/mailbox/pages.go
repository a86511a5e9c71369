package mailbox

import (
	"encoding/json"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Pages returns the handler of the pages and of the JSON interface.
func Pages(b *Box) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		messages := b.Messages("")
		slices.Reverse(messages)
		show(w, list, messages)
	})
	mux.HandleFunc("GET /messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		m, ok := b.Message(r.PathValue("id"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		show(w, one, struct {
			Message
			Lines []line
		}{m, lines(m.Text)})
	})
	mux.HandleFunc("GET /messages/{id}/html", func(w http.ResponseWriter, r *http.Request) {
		m, ok := b.Message(r.PathValue("id"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-popups allow-popups-to-escape-sandbox")
		_, _ = w.Write([]byte(m.HTML))
	})
	mux.HandleFunc("GET /api/messages", func(w http.ResponseWriter, r *http.Request) { answer(w, b.Messages(r.URL.Query().Get("to"))) })
	mux.HandleFunc("DELETE /api/messages", func(w http.ResponseWriter, _ *http.Request) {
		b.Clear()
		answer(w, []Message{})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"status": "ok"}) })
	return mux
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Simulator", "mailbox")
	_ = json.NewEncoder(w).Encode(v) // fails when the reader has gone
}

func show(w http.ResponseWriter, page *template.Template, v any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'")
	w.Header().Set("X-Simulator", "mailbox")
	_ = page.Execute(w, v) // fails when the reader has gone
}

// line is a line of a mail's text, cut at its first link.
type line struct{ Before, Link, After string }

func lines(text string) []line {
	var out []line
	for s := range strings.SplitSeq(text, "\n") {
		at := regexp.MustCompile(`https?://[^\s<>"]+`).FindStringIndex(s)
		if at == nil {
			out = append(out, line{Before: s})
			continue
		}
		out = append(out, line{s[:at[0]], s[at[0]:at[1]], s[at[1]:]})
	}
	return out
}

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Development mailbox</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
.note{border:2px solid #b45309;padding:.5rem 1rem;border-radius:.4rem}table{width:100%;border-collapse:collapse}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884}iframe{width:100%;height:32rem;border:1px solid #8884;background:#fff}</style>
</head>
<body>
<p class="note"><strong>Development mailbox.</strong> Mails of this stack end here; none of them is delivered to anybody.</p>
`

var list = template.Must(template.New("list").Parse(head + `<h1>Mails</h1>
{{if .}}<table><thead><tr><th scope="col">When</th><th scope="col">To</th><th scope="col">Subject</th></tr></thead><tbody>{{range .}}
<tr><td>{{.At.Format "15:04:05"}}</td><td>{{range .To}}{{.}} {{end}}</td><td><a href="/messages/{{.ID}}">{{or .Subject "(no subject)"}}</a></td></tr>{{end}}
</tbody></table>{{else}}<p>Nothing has arrived yet.</p>{{end}}
</body></html>
`))

var one = template.Must(template.New("one").Parse(head + `<p><a href="/">All mails</a></p>
<h1>{{or .Subject "(no subject)"}}</h1>
<p>From {{.From}} to {{range .To}}{{.}} {{end}}at {{.At.Format "2006-01-02 15:04:05 MST"}}</p>
<h2>Text</h2>
<p>{{range .Lines}}{{.Before}}{{if .Link}}<a href="{{.Link}}">{{.Link}}</a>{{end}}{{.After}}<br>
{{end}}</p>
{{if .HTML}}<h2>HTML</h2>
<iframe title="The HTML of the mail" sandbox="allow-popups allow-popups-to-escape-sandbox" src="/messages/{{.ID}}/html"></iframe>{{end}}
<h2>As it came</h2>
<details><summary>Source</summary><pre>{{.Raw}}</pre></details>
</body></html>
`))
