package api

import (
	"net/http"
	"strings"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/wire"
)

// immutable is for what has its version in its name.
const immutable = "public, max-age=31536000, immutable"

func (a *API) listDemos(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	answer := wire.DemoList{Demos: []wire.Demo{}}
	for _, one := range a.Demos.List() {
		families := one.Requires
		if families == nil {
			families = []string{}
		}
		answer.Demos = append(answer.Demos, wire.Demo{
			ID: one.ID, Name: one.Title, Description: one.Description, Families: families, Plan: one.Plan,
			Allowed: one.Open(d.Terms().PlanID()), Path: "/dev/demos/" + one.ID,
		})
	}
	return writeJSON(w, answer)
}

// demoPage takes the session from the header or, in a frame, from the query, which is never logged.
func (a *API) demoPage(w http.ResponseWriter, r *http.Request) error {
	if t := r.URL.Query().Get("t"); t != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t)
	}
	return a.inSession(func(w http.ResponseWriter, r *http.Request, who account.Identity) error {
		d, err := a.Accounts.Developer(r.Context(), who.DeveloperID)
		if err != nil {
			return err
		}
		page, err := a.Demos.Page(r.PathValue("demo_id"), d.Terms().PlanID())
		if err != nil {
			return err
		}
		a.writeDemo(w, page, "no-store")
		return nil
	})(w, r)
}

// demoFilePage serves a page that everybody may load; r's path ends with .html.
func (a *API) demoFilePage(w http.ResponseWriter, r *http.Request) error {
	page, err := a.Demos.PublicPage(strings.TrimSuffix(r.PathValue("page"), ".html"))
	if err != nil {
		return err
	}
	a.writeDemo(w, page, "no-cache")
	return nil
}

// writeDemo answers with a page that the portal may show in a frame, and nobody else. Beyond that its policy is the portal's.
func (a *API) writeDemo(w http.ResponseWriter, page []byte, cache string) {
	h := w.Header()
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", cache)
	w.Write(page) //nolint:errcheck // the client has gone
}

func (a *API) sdkFile(w http.ResponseWriter, r *http.Request) error {
	file, err := a.Demos.SDK(r.PathValue("file_path"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "public, no-cache")
	if file.Fixed {
		h.Set("Cache-Control", immutable)
	}
	h.Set("ETag", file.ETag)
	if r.Header.Get("If-None-Match") == file.ETag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", file.Type)
	w.Write(file.Content) //nolint:errcheck // the client has gone
	return nil
}
